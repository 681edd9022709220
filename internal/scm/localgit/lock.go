package localgit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/omoi-dev/omoi/internal/hostfault"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

const (
	// refWait is how long git waits for the lock of a ref. It is short because omoi holds the repository's lock
	// meanwhile, for which other tasks wait. The activity's retry tries again.
	refWait = time.Second
	// lockPatience is the age from which the lock of one of omoi's own refs counts as left by a killed git: a process
	// that changes these refs holds the repository's lock, and is quick.
	lockPatience = 10 * time.Second
	// branchPatience is the same for locks that the user's own git may hold: of a task's branch, with hooks, and of
	// packed-refs.
	branchPatience = time.Minute

	recordsFolder = "omoi"
	lockFile      = "omoi/lock"
	lockPoll      = 5 * time.Millisecond
)

// records is the git directory, opened so that symbolic links cannot lead outside: if omoi runs as root, the folder
// belongs to another user.
type records struct {
	*os.Root
	owner *syscall.Credential
}

func (r *repository) records() (*records, error) {
	root, err := os.OpenRoot(r.dir)
	if err != nil {
		return nil, r.unwritable(err)
	}
	rec := &records{Root: root, owner: r.owner}
	if err := rec.folder(recordsFolder); err != nil {
		return nil, errors.Join(r.unwritable(err), root.Close())
	}
	return rec, nil
}

// unwritable tells a repository without write access from a host that cannot write at the moment.
func (r *repository) unwritable(cause error) error {
	if hostfault.Is(cause) {
		return task.Errorf(task.CodeUnavailable, "Repository %s cannot be written now: %s.", r.path, plain(cause)).WithCause(cause)
	}
	return task.Invalid("repo", "Repository %s cannot be written: %s. Next: give the user that omoi runs as access to it.",
		r.path, plain(cause)).WithCause(cause)
}

// folder creates a folder if it does not exist.
func (r *records) folder(name string) error {
	err := r.Mkdir(name, 0o755)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	return errors.Join(err, r.give(name))
}

// give changes the owner of a file to the owner of the repository.
func (r *records) give(name string) error {
	if r.owner == nil {
		return nil
	}
	return r.Lchown(name, int(r.owner.Uid), int(r.owner.Gid))
}

// lock keeps other omoi processes from changing refs and numbers in this repository. The kernel releases it when the
// holder dies. lock waits for at most half of the remaining time of ctx, so that enough time is left to use it.
func (r *repository) lock(ctx context.Context) (unlock func(), err error) {
	f, err := r.openLock()
	if err != nil {
		return nil, err
	}
	ctx, cancel := halved(ctx)
	defer cancel()
	if err := flock(ctx, f); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", r.path, err), f.Close())
	}
	return func() { _ = f.Close() }, nil
}

// flock locks f exclusively. It waits until ctx ends.
func flock(ctx context.Context, f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return err
		}
		if err := wait.For(ctx, lockPoll); err != nil {
			return err
		}
	}
}

// openLock opens the lock file, which needs write access.
func (r *repository) openLock() (f *os.File, err error) {
	rec, err := r.records()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rec.Close()) }()
	if f, err = rec.OpenFile(lockFile, os.O_CREATE|os.O_RDONLY, 0o644); err != nil {
		return nil, r.unwritable(err)
	}
	if err := rec.give(lockFile); err != nil {
		return nil, errors.Join(r.unwritable(err), f.Close())
	}
	return f, nil
}

// halved returns a context that ends after half of the remaining time of ctx.
func halved(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, time.Until(end)/2)
}

// change runs one ref transaction in a repository that omoi shares with other programs. The caller holds
// [repository.lock].
func (r *repository) change(ctx context.Context, lines ...string) (err error) {
	rec, err := r.records()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rec.Close()) }()
	for _, line := range lines {
		verb, rest, _ := strings.Cut(line, " ")
		rec.unlockStale(strings.Fields(rest)[0])
		if verb == "delete" { // a delete also locks packed-refs
			rec.removeStale("packed-refs.new", branchPatience)
			rec.removeStale("packed-refs.lock", branchPatience)
		}
	}
	return r.update(ctx, lines...)
}

// unlockStale removes the lock of a ref that a killed git left. If it fails, git reports the problem.
func (r *records) unlockStale(ref string) {
	patience := branchPatience
	if strings.HasPrefix(ref, "refs/omoi/") {
		patience = lockPatience
	}
	r.removeStale(ref+".lock", patience)
}

// removeStale removes a file that was not written for longer than patience.
func (r *records) removeStale(name string, patience time.Duration) {
	if info, err := r.Lstat(name); err == nil && time.Since(info.ModTime()) > patience {
		_ = r.Remove(name)
	}
}
