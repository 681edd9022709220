package local

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// Delete ends everything in the sandbox, proves that by looking, and removes it. It fences a
// create that comes later. One that is not there, or whose labels are another's, is success:
// ours does not exist then. It answers [task.CodeUnavailable] if something does not die or
// cannot be removed before ctx ends; the next Delete goes on from there.
func (p *Provider) Delete(ctx context.Context, labels sandbox.Labels) error {
	fence, err := p.fence(ctx, labels)
	if err != nil {
		return err
	}
	defer fence.Release()
	f, trash := p.folder(labels), p.trash(labels)
	m := meta{UID: -1, Cgroups: p.cg.dirs(task.SandboxName(labels.SandboxID)), Labels: labels}
	for _, place := range []folder{trash, f} {
		found, err := place.load(fileLabels, &m)
		if err != nil {
			return err
		}
		if found && m.Labels != labels {
			return nil
		}
	}
	if err := fence.Bury(labels); err != nil {
		return err
	}
	if err := p.discard(ctx, f, trash, m); err != nil {
		return err
	}
	return p.erase(trash, m)
}

// discard ends what runs and moves the folder away. A shim that opened the life lock before
// the move holds it by then, or sees that its path is gone.
func (p *Provider) discard(ctx context.Context, f, trash folder, m meta) error {
	if err := p.endAll(ctx, f, m); err != nil {
		return err
	}
	if err := os.Rename(string(f), string(trash)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unavailable("move a sandbox to the trash", err)
	}
	return p.endAll(ctx, trash, m)
}

// endAll ends every shim of the folder and whatever else is found of the sandbox.
func (p *Provider) endAll(ctx context.Context, f folder, m meta) error {
	for {
		g, err := seize(f.at(fileLife), spanAll)
		if err != nil {
			return err
		}
		if g != nil {
			g.signal(unix.SIGCONT) // it may be frozen
			if err := g.end(ctx, 0); err != nil {
				return err
			}
			continue
		}
		if pid, err := holder(f.at(fileLife), spanAll); pid == 0 || err != nil {
			break
		}
		if err := wait.For(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	l, err := newLook(f, m, scopeAll)
	if err != nil {
		return err
	}
	return l.kill(ctx, p.log)
}

// erase removes the files, the labels last but one: until the folder is gone the sandbox is
// listed and inspected as being there.
func (p *Provider) erase(trash folder, m meta) error {
	there, err := trash.exists()
	if err != nil {
		return err
	}
	if there {
		if err := removeTree(string(trash), fileLabels); err != nil {
			return unavailable("remove the files of a sandbox", err)
		}
	}
	if !removeGroups(m.Cgroups) {
		return task.Errorf(task.CodeUnavailable, "the control groups of the sandbox are still in use")
	}
	if os.Geteuid() == 0 && (there || m.UID >= 0) {
		p.uids.free(m.UID, p.folder(m.Labels), trash)
	}
	return nil
}
