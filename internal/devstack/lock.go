package devstack

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/omoi-dev/omoi/internal/task"
)

// Lock is the right to run in a home directory. The kernel takes it back when the
// process ends, however it ends.
type Lock struct{ file *os.File }

// Acquire makes home and takes its lock. Where another process holds it the error is
// [task.CodeConflict] and says where that one is reached.
func Acquire(home string) (*Lock, error) {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, fmt.Errorf("make home directory: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(home, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return &Lock{file}, nil
	}
	err = errors.Join(err, file.Close())
	return nil, held(home).WithCause(err)
}

// Release gives the lock back, also from a child that is being forked right now.
func (l *Lock) Release() error {
	return errors.Join(syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN), l.file.Close())
}

func held(home string) *task.Error {
	info, err := ReadInfo(home)
	if err != nil {
		return task.Errorf(task.CodeConflict, "another omoi is starting in %s; set OMOI_HOME to run a second one beside it", home)
	}
	return task.Errorf(task.CodeConflict, "omoi dev runs already in %s (pid %d): %s; set OMOI_HOME to run a second one beside it",
		home, info.PID, info.APIURL)
}
