package docker

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"time"
)

// spooled is content of known length, as an archive needs it.
type spooled struct {
	io.ReadCloser

	size int64
}

// inMemory is how much of a file is kept in memory; the rest goes to a file without a name.
const inMemory = 1 << 20

// spool reads r to its end.
func spool(r io.Reader) (spooled, error) {
	var head bytes.Buffer
	n, err := io.CopyN(&head, r, inMemory)
	if errors.Is(err, io.EOF) {
		return spooled{io.NopCloser(&head), n}, nil
	}
	if err != nil {
		return spooled{}, fmt.Errorf("read what to write: %w", err)
	}
	file, err := os.CreateTemp("", "omoi-spool-")
	if err != nil {
		return spooled{}, unavailable("keep a file on its way into a sandbox", err)
	}
	_ = os.Remove(file.Name()) // it lives as long as it is open
	size, err := io.Copy(file, io.MultiReader(&head, r))
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = file.Close()
		return spooled{}, fmt.Errorf("read what to write: %w", err)
	}
	return spooled{file, size}, nil
}

// entry is a file of an archive.
type entry struct {
	name string
	mode int64
	body spooled
}

// archive streams the folders and below them the file, all of the sandbox's user.
func (p *Provider) archive(e entry, folders []string) io.ReadCloser {
	r, w := io.Pipe()
	go func() { w.CloseWithError(p.writeArchive(w, e, folders)) }()
	return r
}

func (p *Provider) writeArchive(to io.Writer, e entry, folders []string) error {
	w := tar.NewWriter(to)
	for n := range folders {
		if err := w.WriteHeader(p.header(tar.TypeDir, path.Join(folders[:n+1]...)+"/", 0o755, 0)); err != nil {
			return err
		}
	}
	if err := w.WriteHeader(p.header(tar.TypeReg, path.Join(append(folders, e.name)...), e.mode, e.body.size)); err != nil {
		return err
	}
	if _, err := io.Copy(w, e.body); err != nil {
		return err
	}
	return w.Close()
}

// header is of something that belongs to the sandbox's user.
func (p *Provider) header(kind byte, name string, mode, size int64) *tar.Header {
	return &tar.Header{Typeflag: kind, Name: name, Mode: mode, Size: size, Uid: p.owner.uid, Gid: p.owner.gid, ModTime: time.Now()}
}
