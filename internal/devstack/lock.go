package devstack

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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
		return nil, fmt.Errorf("create home directory: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(home, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		err = sign(file)
		return &Lock{file}, err
	}
	err = errors.Join(held(home, holder(file)).WithCause(err), file.Close())
	return nil, err
}

// sign writes down who holds the lock, for those who come later.
func sign(file *os.File) error {
	text := strconv.Itoa(os.Getpid()) + "\n"
	_, err := file.WriteAt([]byte(text), 0)
	if err == nil {
		err = file.Truncate(int64(len(text)))
	}
	if err != nil {
		return fmt.Errorf("write lock file: %w", errors.Join(err, file.Close()))
	}
	return nil
}

// holder is the pid that the lock file names; 0: none yet.
func holder(file *os.File) int {
	text := make([]byte, 20)
	n, _ := file.ReadAt(text, 0) // at most the whole file
	pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	if err != nil {
		return 0
	}
	return pid
}

// Release gives the lock back, also from a child that is being forked right now.
func (l *Lock) Release() error {
	return errors.Join(syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN), l.file.Close())
}

// held names the process that holds the lock. dev.json may be of one that was killed before it.
func held(home string, pid int) *task.Error {
	info, err := ReadInfo(home)
	if err != nil || info.PID != pid {
		return task.Errorf(task.CodeConflict, "Cannot start: omoi process %d is using %s. Next: wait until it ends, or set OMOI_HOME to run a second one",
			pid, home)
	}
	return task.Errorf(task.CodeConflict, "Cannot start: omoi dev already runs in %s (pid %d): %s. Next: set OMOI_HOME to run a second one",
		home, pid, info.APIURL)
}
