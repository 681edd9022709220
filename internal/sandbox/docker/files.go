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

// walker looks at the parts of a path one by one. What it has seen may change behind its back,
// but the engine never leaves the container, and there nothing is the host's.
type walker struct {
	p    *Provider
	id   string
	name string // for errors
	tree string
}

// errAbsent says that a path leads nowhere.
var errAbsent = errors.New("there is nothing")

func (w walker) stat(ctx context.Context, at string) (container.PathStat, error) {
	seen, err := w.p.engine.ContainerStatPath(ctx, w.id, at)
	switch {
	case cerrdefs.IsNotFound(err):
		return seen, errAbsent
	case err != nil && w.atFault(ctx, err): // a loop of links
		return seen, w.refuse("a part of it cannot be resolved").WithCause(err)
	case err != nil:
		return seen, engineError("look into a sandbox", err)
	}
	return seen, nil
}

// atFault reports whether the path is why the engine cannot answer, which it says as it says faults of its own: then the root of
// the same sandbox can be looked at.
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

// step goes to one part of a path, through a link if it stays within the tree.
func (w walker) step(ctx context.Context, dir, part string) (string, container.PathStat, error) {
	at := dir + "/" + part
	seen, err := w.stat(ctx, at)
	if err != nil || seen.Mode&os.ModeSymlink == 0 {
		return at, seen, err
	}
	if !strings.HasPrefix(seen.LinkTarget, w.tree+"/") { // the engine has followed it to its end
		return at, seen, w.refuse("a link leads out of " + w.tree)
	}
	at = seen.LinkTarget
	if seen, err = w.stat(ctx, at); err == nil && seen.Mode&os.ModeSymlink != 0 {
		err = w.refuse("its links change")
	}
	return at, seen, err
}

// descend goes through folders as far as there are any.
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
			return "", nil, w.refuse(at + " is no folder")
		}
		dir = at
	}
	return dir, nil, nil
}

// at opens a way into a sandbox for the file of that name.
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
		return nil, w.refuse("it is no regular file")
	}
	return w.open(ctx, at)
}

// open reads the one file that the engine's archive of it holds.
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
		err = w.refuse("it is no regular file")
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

// WriteFile implements [sandbox.Provider]. Nothing is written if r fails.
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

// replaceable refuses to put a file where a folder is.
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
		return w.refuse("the sandbox changes while it is written").WithCause(err)
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
		return nil, task.Invalid("offset", "a log begins at offset 0, not %d", offset)
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

// logged is a log on its way.
type logged struct {
	*io.PipeReader

	raw io.Closer
}

// Close gives up the stream.
func (l *logged) Close() error { return errors.Join(l.PipeReader.Close(), l.raw.Close()) }

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
	name := path.Join(append(folders, e.name)...)
	if err := w.WriteHeader(p.header(tar.TypeReg, name, e.mode, e.body.size)); err != nil {
		return err
	}
	if _, err := io.Copy(w, e.body); err != nil {
		return err
	}
	return w.Close()
}

// header is of something that belongs to the sandbox's user.
func (p *Provider) header(kind byte, name string, mode, size int64) *tar.Header {
	return &tar.Header{
		Typeflag: kind, Name: name, Mode: mode, Size: size, Uid: p.owner.uid, Gid: p.owner.gid, ModTime: time.Now(),
	}
}
