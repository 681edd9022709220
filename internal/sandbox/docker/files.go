package docker

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"os"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

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
	return task.Invalid("path", "%s is not for omoi: %s", w.name, why)
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
	tree, path, err := sandbox.DefaultPaths().Locate(name)
	return walker{p: p, id: found.ID, name: name, tree: tree}, strings.Split(path, "/"), err
}

// ReadFile opens a regular file, never a device, a pipe or what a link shows outside of the
// tree. It answers [task.CodeNotFound] where there is none, [task.CodeInvalid] for what is no
// file.
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
	absent := task.Errorf(task.CodeNotFound, "there is no file %s in the sandbox", name)
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
		return nil, task.Errorf(task.CodeNotFound, "there is no file %s in the sandbox", w.name)
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

// WriteFile replaces a file and gives it to the sandbox's user; folders above it are made. Of
// mode only the permission bits count. Nothing is written if r fails.
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
