package local

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/omoi-dev/omoi/internal/hostfault"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// WriteFile implements [sandbox.Provider]. WriteFile replaces the file atomically.
func (p *Provider) WriteFile(ctx context.Context, labels sandbox.Labels, name string, mode uint32, r io.Reader) error {
	root, rel, m, err := p.open(labels, name)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // only read
	if err := makeParents(root, path.Dir(rel), m.UID); err != nil {
		return fileError("create a folder for", name, err)
	}
	fresh := path.Join(path.Dir(rel), ".omoi-"+rand.Text())
	err = writeFresh(root, fresh, m.UID, fs.FileMode(mode).Perm(), &live{ctx: ctx, r: r})
	if err == nil {
		err = root.Rename(fresh, rel)
	}
	if err != nil {
		_ = root.Remove(fresh)
		return fileError("write", name, err)
	}
	return nil
}

// open opens the tree of a sandbox that contains a file, and returns the path of the file in the tree.
func (p *Provider) open(labels sandbox.Labels, name string) (root *os.Root, rel string, m meta, err error) {
	f, m, err := p.find(labels)
	if err != nil {
		return nil, "", m, err
	}
	tree, rel, err := f.paths().Locate(name)
	if err != nil {
		return nil, "", m, err
	}
	if root, err = os.OpenRoot(tree); err != nil {
		return nil, "", m, unavailable("open a tree of the sandbox", err)
	}
	return root, rel, m, nil
}

func makeParents(root *os.Root, dir string, uid int) error {
	if dir == "." {
		return nil
	}
	if err := makeParents(root, path.Dir(dir), uid); err != nil {
		return err
	}
	err := root.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil && uid >= 0 {
		err = root.Lchown(dir, uid, uid)
	}
	return err
}

func writeFresh(root *os.Root, name string, uid int, mode fs.FileMode, r io.Reader) error {
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, r)
	if err == nil && uid >= 0 {
		err = file.Chown(uid, uid)
	}
	if err == nil {
		err = file.Chmod(mode)
	}
	return errors.Join(err, file.Close())
}

// live stops reading when ctx ends.
type live struct {
	ctx context.Context //nolint:containedctx // used for one copy only
	r   io.Reader
}

func (l *live) Read(p []byte) (int, error) {
	if err := l.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := l.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &givenError{err}
	}
	return n, err
}

// givenError is a read error of the caller's content, as opposed to an error of the sandbox.
type givenError struct{ error }

func (e *givenError) Unwrap() error { return e.error }

// ReadFile implements [sandbox.Provider].
func (p *Provider) ReadFile(_ context.Context, labels sandbox.Labels, name string) (io.ReadCloser, error) {
	root, rel, _, err := p.open(labels, name)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // an opened file stays open
	file, err := root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fileError("read", name, err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = task.Invalid("path", "%s is not a regular file", name)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// fileError returns [task.CodeNotFound] for a missing file, [task.CodeUnavailable] for a fault of the host, and
// [task.CodeInvalid] for what a hostile tree causes: links that lead out, loops, files in place of folders.
func fileError(doing, name string, err error) error {
	_, coded := errors.AsType[*task.Error](err)
	_, given := errors.AsType[*givenError](err)
	switch {
	case coded, given, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s %s: %w", doing, name, err)
	case errors.Is(err, fs.ErrNotExist):
		return task.Errorf(task.CodeNotFound, "file %s not found in the sandbox", name).WithCause(err)
	case hostfault.Is(err):
		return unavailable(doing+" "+name, err)
	}
	return task.Invalid("path", "cannot %s %s in the sandbox: the path is not a regular file below the folders of the sandbox", doing, name).WithCause(err)
}

// Log implements [sandbox.Provider].
func (p *Provider) Log(_ context.Context, labels sandbox.Labels, offset int64) (io.ReadCloser, error) {
	f, _, err := p.find(labels)
	if err != nil {
		return nil, err
	}
	if offset < 0 {
		return nil, task.Invalid("offset", "the offset of a log must be 0 or more, not %d", offset)
	}
	file, err := os.OpenFile(filepath.Clean(f.at(fileLog)), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return io.NopCloser(strings.NewReader("")), nil
	}
	if err != nil {
		return nil, unavailable("open the log of a sandbox", err)
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return nil, unavailable("measure the log of a sandbox", err)
	}
	return struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(file, offset, max(info.Size()-offset, 0)), file}, nil
}
