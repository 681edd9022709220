// Package tempdir gives a process a folder for what is thrown away, as copies of repositories. The folder is locked for as long as
// the process lives, and the kernel drops the lock when it dies: what a killed process left behind is removed by the next one that starts.
package tempdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// prefix begins the name of every such folder.
const prefix = "omoi-scratch-"

// Dir is the folder of this process. A nil Dir makes what it is asked for where the system has its own.
type Dir struct {
	parent string

	mu   sync.Mutex
	path string
	lock *os.File
}

// Open removes what dead processes of this user left below parent; empty is the system's folder. The own folder is made when
// it is needed.
func Open(parent string) *Dir {
	if parent == "" {
		parent = os.TempDir()
	}
	Sweep(parent, prefix)
	return &Dir{parent: parent}
}

// Sweep removes the folders below parent whose names begin so, and whose processes are dead.
func Sweep(parent, prefix string) {
	left, _ := filepath.Glob(filepath.Join(parent, prefix+"*")) // the pattern is ours
	for _, path := range left {
		if lock := own(path); lock != nil { // its process is dead; what cannot be removed now, the next start removes
			_ = remove(path)
			_ = lock.Close()
		}
	}
}

// Begin makes a folder whose name begins so. It is this process's for as long as the lock is open. One that somebody swept
// before it was locked is made anew.
func Begin(parent, prefix string) (path string, lock *os.File, err error) {
	const tries = 3
	for range tries {
		if path, err = os.MkdirTemp(parent, prefix); err != nil {
			return "", nil, err
		}
		if lock = own(path); lock != nil {
			return path, lock, nil
		}
	}
	return "", nil, fmt.Errorf("lock a folder in %s: somebody else removes them", parent)
}

// Make makes a new folder for one copy. Others may go through the folder around it, as the user who owns a repository must.
func (d *Dir) Make(pattern string) (string, error) {
	if d == nil {
		return os.MkdirTemp("", pattern)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := os.Stat(d.path); d.path == "" || err != nil { // or a cleaner of the system took it away
		if err := d.begin(); err != nil {
			return "", err
		}
	}
	return os.MkdirTemp(d.path, pattern)
}

// Close removes the folder with all that is in it.
func (d *Dir) Close() error {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lock == nil {
		return nil
	}
	err := errors.Join(os.RemoveAll(d.path), d.lock.Close())
	d.path, d.lock = "", nil
	return err
}

// begin makes and locks the folder.
func (d *Dir) begin() error {
	if d.lock != nil {
		_ = d.lock.Close() // of the folder that is gone
		d.lock = nil
	}
	path, lock, err := Begin(d.parent, prefix)
	if err != nil {
		return fmt.Errorf("make a folder for copies: %w", err)
	}
	d.path, d.lock = path, lock
	return os.Chmod(path, 0o711) //nolint:gosec // G302: what is in it has names that nobody guesses, and modes of its own
}

// own locks a folder of ours that is there; nil if somebody else holds it, or it is none.
func own(path string) *os.File {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil
	}
	held, err := f.Stat()
	if err == nil && mine(held) && syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
		if now, err := os.Lstat(path); err == nil && os.SameFile(held, now) {
			return f
		}
	}
	_ = f.Close()
	return nil
}

// mine reports whether a folder belongs to this user: what somebody else calls so is left alone.
func mine(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// remove takes away folders too that are closed to their own user.
func remove(path string) error {
	err := os.RemoveAll(path)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(path, func(at string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = os.Chmod(at, 0o700) //nolint:gosec // G302: a folder, which is about to go
		}
		return nil
	})
	return os.RemoveAll(path)
}
