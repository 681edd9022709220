package local

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
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
	if err := fence.Bury(); err != nil {
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
	there, err := f.exists()
	if err != nil {
		return err
	}
	if there {
		if err := os.Rename(string(f), string(trash)); err != nil {
			return unavailable("move a sandbox to the trash", err)
		}
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

// removeTree removes a folder and all that is in it, its file called last as the last. Nothing alive may still change it. No link is
// followed. Each folder is emptied at the top, whereto those within it are moved: a hostile tree may be far deeper than paths, stacks or
// descriptors reach, and its user may have taken every right from its folders.
func removeTree(path, last string) error {
	lifted, moved := filepath.Join(path, ".deep-"+rand.Text()), 0
	lift := func(folder string, entry os.DirEntry) error {
		at := filepath.Join(folder, entry.Name())
		if !entry.IsDir() {
			return os.Remove(at)
		}
		moved++
		return errors.Join(os.Chmod(at, 0o700), os.Rename(at, lifted+strconv.Itoa(moved))) //nolint:gosec // G302: a folder, which is about to go
	}
	for again := true; again; {
		again = false
		err := each(path, func(entry os.DirEntry) error {
			if entry.Name() == last {
				return nil
			}
			again = true
			at := filepath.Join(path, entry.Name())
			if !entry.IsDir() {
				return os.Remove(at)
			}
			if err := each(at, func(inner os.DirEntry) error { return lift(at, inner) }); err != nil {
				return err
			}
			if err := unix.Rmdir(at); !errors.Is(err, unix.ENOTEMPTY) {
				return err
			}
			return nil // the next round finds what this one passed over
		})
		if err != nil {
			return err
		}
	}
	if err := os.Remove(filepath.Join(path, last)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Remove(path)
}

// each does something to each entry of a folder, of those that come and go meanwhile perhaps not to all.
func each(folder string, do func(os.DirEntry) error) error {
	_ = os.Chmod(folder, 0o700) //nolint:gosec // G302: ours again; where it fails, opening tells why
	dir, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer dir.Close() //nolint:errcheck // only read
	for {
		entries, err := dir.ReadDir(512)
		for _, entry := range entries {
			if err := do(entry); err != nil {
				return fmt.Errorf("remove %s: %w", entry.Name(), err)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
