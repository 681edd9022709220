package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// walker resolves a path part by part. The sandbox may change a part after the check. This is safe: the engine resolves
// every path inside the container.
type walker struct {
	p    *Provider
	id   string
	name string // for error texts
	tree string
}

// errAbsent reports that a path does not exist.
var errAbsent = errors.New("no such file or folder")

func (w walker) stat(ctx context.Context, at string) (container.PathStat, error) {
	seen, err := w.p.engine.ContainerStatPath(ctx, w.id, at)
	switch {
	case cerrdefs.IsNotFound(err):
		return seen, errAbsent
	case err != nil && w.atFault(ctx, err): // a loop of links, for example
		return seen, w.refuse("a part of the path cannot be resolved").WithCause(err)
	case err != nil:
		return seen, engineError("read a folder of a sandbox", err)
	}
	return seen, nil
}

// atFault reports whether the path caused err. The engine answers its own faults with the same codes, so atFault checks
// whether the engine can stat the root of the sandbox.
func (w walker) atFault(ctx context.Context, err error) bool {
	if !cerrdefs.IsInvalidArgument(err) && !cerrdefs.IsInternal(err) {
		return false
	}
	_, err = w.p.engine.ContainerStatPath(ctx, w.id, "/")
	return err == nil
}

func (w walker) refuse(why string) *task.Error {
	return task.Invalid("path", "cannot access %s in the sandbox: %s", w.name, why)
}

// step resolves one part of a path, through a link if its target is in the tree.
func (w walker) step(ctx context.Context, dir, part string) (string, container.PathStat, error) {
	at := dir + "/" + part
	seen, err := w.stat(ctx, at)
	if err != nil || seen.Mode&os.ModeSymlink == 0 {
		return at, seen, err
	}
	if !strings.HasPrefix(seen.LinkTarget, w.tree+"/") { // the engine has resolved the link completely
		return at, seen, w.refuse("a link points outside of " + w.tree)
	}
	at = seen.LinkTarget
	if seen, err = w.stat(ctx, at); err == nil && seen.Mode&os.ModeSymlink != 0 {
		err = w.refuse("its links changed during the access")
	}
	return at, seen, err
}

// descend resolves folders until one does not exist, and returns the missing parts.
func (w walker) descend(ctx context.Context, parts []string) (dir string, missing []string, err error) {
	dir = w.tree
	for n, part := range parts {
		at, seen, err := w.step(ctx, dir, part)
		switch {
		case errors.Is(err, errAbsent):
			return dir, parts[n:], nil
		case err != nil:
			return "", nil, err
		case !seen.Mode.IsDir():
			return "", nil, w.refuse(at + " is not a folder")
		}
		dir = at
	}
	return dir, nil, nil
}

// at returns a walker for a file, and the parts of its path below the tree.
func (p *Provider) at(ctx context.Context, labels sandbox.Labels, name string) (w walker, rel []string, err error) {
	found, err := p.find(ctx, labels)
	if err != nil {
		return w, nil, err
	}
	tree, inside, err := sandbox.DefaultPaths().Locate(name)
	return walker{p: p, id: found.ID, name: name, tree: tree}, strings.Split(inside, "/"), err
}

// ReadFile implements [sandbox.Provider].
func (p *Provider) ReadFile(ctx context.Context, labels sandbox.Labels, name string) (io.ReadCloser, error) {
	w, rel, err := p.at(ctx, labels, name)
	if err != nil {
		return nil, err
	}
	last := len(rel) - 1
	dir, missing, err := w.descend(ctx, rel[:last])
	if err != nil {
		return nil, err
	}
	absent := task.Errorf(task.CodeNotFound, "file %s not found in the sandbox", name)
	if len(missing) > 0 {
		return nil, absent
	}
	at, seen, err := w.step(ctx, dir, rel[last])
	switch {
	case errors.Is(err, errAbsent):
		return nil, absent
	case err != nil:
		return nil, err
	case !seen.Mode.IsRegular():
		return nil, w.refuse("it is not a regular file")
	}
	return w.open(ctx, at)
}

// open returns the content of the file in the engine's archive.
func (w walker) open(ctx context.Context, at string) (io.ReadCloser, error) {
	raw, _, err := w.p.engine.CopyFromContainer(ctx, w.id, at)
	if cerrdefs.IsNotFound(err) {
		return nil, task.Errorf(task.CodeNotFound, "file %s not found in the sandbox", w.name)
	}
	if err != nil {
		return nil, engineError("read from a sandbox", err)
	}
	archive := tar.NewReader(raw)
	head, err := archive.Next()
	if err == nil && head.Typeflag != tar.TypeReg {
		err = w.refuse("it is not a regular file")
	} else if err != nil {
		err = engineError("read from a sandbox", err)
	}
	if err != nil {
		_ = raw.Close()
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{archive, raw}, nil
}

// WriteFile implements [sandbox.Provider]. If r fails, the file stays unchanged.
func (p *Provider) WriteFile(ctx context.Context, labels sandbox.Labels, name string, mode uint32, r io.Reader) (err error) {
	w, rel, err := p.at(ctx, labels, name)
	if err != nil {
		return err
	}
	last := len(rel) - 1
	dir, missing, err := w.descend(ctx, rel[:last])
	if err != nil {
		return err
	}
	if err := w.replaceable(ctx, dir, missing, rel[last]); err != nil {
		return err
	}
	body, err := spool(r)
	if err != nil {
		return err
	}
	defer body.Close() //nolint:errcheck // only read
	archive := p.archive(entry{name: rel[last], mode: int64(os.FileMode(mode).Perm()), body: body}, missing)
	err = p.engine.CopyToContainer(ctx, w.id, dir, archive, container.CopyToContainerOptions{})
	return errors.Join(w.wrote(err), archive.Close())
}

// replaceable returns an error if a folder has the name of the file.
func (w walker) replaceable(ctx context.Context, dir string, missing []string, name string) error {
	if len(missing) > 0 {
		return nil
	}
	seen, err := w.stat(ctx, dir+"/"+name)
	switch {
	case errors.Is(err, errAbsent), err != nil && task.CodeOf(err) == task.CodeInvalid: // a broken link is replaced
		return nil
	case err != nil:
		return err
	case seen.Mode.IsDir():
		return w.refuse("it is a folder")
	}
	return nil
}

func (w walker) wrote(err error) error {
	switch {
	case err == nil:
		return nil
	case cerrdefs.IsNotFound(err), cerrdefs.IsInvalidArgument(err):
		return w.refuse("the folder changed during the write").WithCause(err)
	}
	return engineError("write into a sandbox", err)
}

// Log implements [sandbox.Provider].
func (p *Provider) Log(ctx context.Context, labels sandbox.Labels, offset int64) (io.ReadCloser, error) {
	found, err := p.find(ctx, labels)
	if err != nil {
		return nil, err
	}
	if offset < 0 {
		return nil, task.Invalid("offset", "the offset of a log must be 0 or more, not %d", offset)
	}
	raw, err := p.engine.ContainerLogs(ctx, found.ID, container.LogsOptions{ShowStdout: true, ShowStderr: true})
	if cerrdefs.IsNotFound(err) {
		return nil, task.Errorf(task.CodeNotFound, "the sandbox was removed").WithCause(err)
	}
	if err != nil {
		return nil, engineError("read the log of a sandbox", err)
	}
	r, w := io.Pipe()
	go func() {
		_, err := stdcopy.StdCopy(w, w, raw)
		w.CloseWithError(errors.Join(err, raw.Close()))
	}()
	log := &logged{PipeReader: r, raw: raw}
	if _, err := io.CopyN(io.Discard, log, offset); err != nil && !errors.Is(err, io.EOF) {
		_ = log.Close()
		return nil, engineError("read the log of a sandbox", err)
	}
	return log, nil
}

// logged is an open log.
type logged struct {
	*io.PipeReader

	raw io.Closer
}

// Close ends the stream.
func (l *logged) Close() error { return errors.Join(l.PipeReader.Close(), l.raw.Close()) }

// spooled is content with a known size, which a tar header needs.
type spooled struct {
	io.ReadCloser

	size int64
}

// inMemory is the number of bytes that spool keeps in memory. Larger content goes to an unlinked file.
const inMemory = 1 << 20

// spool reads r to its end.
func spool(r io.Reader) (spooled, error) {
	var head bytes.Buffer
	n, err := io.CopyN(&head, r, inMemory)
	if errors.Is(err, io.EOF) {
		return spooled{io.NopCloser(&head), n}, nil
	}
	if err != nil {
		return spooled{}, fmt.Errorf("read the content of the file: %w", err)
	}
	file, err := os.CreateTemp("", "omoi-spool-")
	if err != nil {
		return spooled{}, unavailable("create a temporary file", err)
	}
	_ = os.Remove(file.Name()) // the unlinked file exists until it is closed
	size, err := io.Copy(file, io.MultiReader(&head, r))
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = file.Close()
		return spooled{}, fmt.Errorf("read the content of the file: %w", err)
	}
	return spooled{file, size}, nil
}

// entry is a file of an archive.
type entry struct {
	name string
	mode int64
	body spooled
}

// archive streams a tar archive of folders and the file below them, owned by the sandbox's user.
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
	name := path.Join(append(folders, e.name)...)
	if err := w.WriteHeader(p.header(tar.TypeReg, name, e.mode, e.body.size)); err != nil {
		return err
	}
	if _, err := io.Copy(w, e.body); err != nil {
		return err
	}
	return w.Close()
}

// header returns a tar header owned by the sandbox's user.
func (p *Provider) header(kind byte, name string, mode, size int64) *tar.Header {
	return &tar.Header{
		Typeflag: kind, Name: name, Mode: mode, Size: size, Uid: p.owner.uid, Gid: p.owner.gid, ModTime: time.Now(),
	}
}
