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

// Delete kills all processes of the sandbox, checks that none is left, and removes its files. A later create fails. A
// missing sandbox, or one with other labels, is a success. If a process does not die, or a file cannot be removed
// before ctx ends, the error is [task.CodeUnavailable], and the next Delete continues.
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

// discard kills all processes and moves the folder to the trash. A shim that opened the life lock before the move
// either holds the lock, or finds that its path no longer leads to the lock.
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

// endAll ends all shims of the folder and all other processes of the sandbox.
func (p *Provider) endAll(ctx context.Context, f folder, m meta) error {
	for {
		g, err := seize(f.at(fileLife), spanAll)
		if err != nil {
			return err
		}
		if g != nil {
			g.signal(unix.SIGCONT) // the shim may be frozen
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

// erase removes the files, with labels.json as the last file: until the folder is removed, List and Inspect report the
// sandbox.
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

// removeTree removes a folder and its content, the file called last as the last one. No running process may change the
// tree. removeTree follows no link. removeTree moves nested folders to the top before it empties them, because a
// hostile tree may be deeper than paths, stacks or descriptors allow. removeTree restores the rights that a user has
// taken from folders.
func removeTree(path, last string) error {
	lifted, moved := filepath.Join(path, ".deep-"+rand.Text()), 0
	lift := func(folder string, entry os.DirEntry) error {
		at := filepath.Join(folder, entry.Name())
		if !entry.IsDir() {
			return os.Remove(at)
		}
		moved++
		return errors.Join(os.Chmod(at, 0o700), os.Rename(at, lifted+strconv.Itoa(moved))) //nolint:gosec // G302: a folder in removal
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
			return nil // the next iteration removes the rest
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

// each calls do for the entries of a folder. each may skip entries that appear or disappear during the call.
func each(folder string, do func(os.DirEntry) error) error {
	_ = os.Chmod(folder, 0o700) //nolint:gosec // G302: after a failure, Open returns the error
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
