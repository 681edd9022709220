package docker

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"
)

// spooled is content of known length, as an archive needs it.
type spooled struct {
	io.Reader
	size int64
	file *os.File // nil: in memory
}

func (s spooled) close() {
	if s.file != nil {
		_ = s.file.Close()
	}
}

// inMemory is how much of a file is kept in memory; the rest goes to a file without a name.
const inMemory = 1 << 20

// spool reads r to its end.
func spool(r io.Reader) (spooled, error) {
	var head bytes.Buffer
	n, err := io.CopyN(&head, r, inMemory)
	if errors.Is(err, io.EOF) {
		return spooled{Reader: &head, size: n}, nil
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
	return spooled{Reader: file, size: size, file: file}, nil
}

// entry is a file of an archive.
type entry struct {
	name string
	mode int64
	body spooled
}

// archive streams the folders and below them the file, all of the sandbox's user.
func (p *Provider) archive(e entry, folders []string) (io.ReadCloser, error) {
	if strings.ContainsRune(e.name, '/') {
		return nil, fmt.Errorf("%q is no name of a file", e.name)
	}
	r, w := io.Pipe()
	go func() { w.CloseWithError(p.writeArchive(w, e, folders)) }()
	return r, nil
}

func (p *Provider) writeArchive(to io.Writer, e entry, folders []string) error {
	w, now := tar.NewWriter(to), time.Now()
	for n := range folders {
		dir := path.Join(folders[:n+1]...)
		head := &tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, Uid: p.owner.uid, Gid: p.owner.gid, ModTime: now}
		if err := w.WriteHeader(head); err != nil {
			return err
		}
	}
	head := &tar.Header{
		Typeflag: tar.TypeReg, Name: path.Join(append(folders, e.name)...), Mode: e.mode, Size: e.body.size,
		Uid: p.owner.uid, Gid: p.owner.gid, ModTime: now,
	}
	if err := w.WriteHeader(head); err != nil {
		return err
	}
	if _, err := io.Copy(w, e.body); err != nil {
		return err
	}
	return w.Close()
}
