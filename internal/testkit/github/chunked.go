package github

import (
	"errors"
	"net/http"
	"os"
)

// maxPush is the largest push that GitHub takes, 2 GiB.
const maxPush = 2 << 30

// whole gives a body that comes in chunks its length, as CGI wants it: git sends each push in chunks that is larger
// than http.postBuffer.
func (s *Server) whole(w http.ResponseWriter, r *http.Request) (done func(), err error) {
	if r.ContentLength >= 0 {
		return func() {}, nil
	}
	file, err := os.CreateTemp(s.dir, "push-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	if err := os.Remove(file.Name()); err != nil { // open as long as it is needed
		return nil, err
	}
	size, err := file.ReadFrom(http.MaxBytesReader(w, r.Body, maxPush))
	if err != nil {
		return nil, err
	}
	if _, err := file.Seek(0, 0); err != nil {
		return nil, err
	}
	r.Body, r.ContentLength, r.TransferEncoding = file, size, nil
	return func() { _ = file.Close() }, nil
}
