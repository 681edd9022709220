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

// Lock is the exclusive lock of a home directory. The kernel releases the lock when the process ends.
type Lock struct{ file *os.File }

// Acquire creates home and takes its lock. If another process holds the lock, the error has [task.CodeConflict] and
// names that process.
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

// sign writes the PID of this process into the lock file.
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

// holder returns the PID in the lock file; 0: none.
func holder(file *os.File) int {
	text := make([]byte, 20)
	n, _ := file.ReadAt(text, 0) // the whole file or less
	pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	if err != nil {
		return 0
	}
	return pid
}

// Release unlocks the file explicitly: a child between fork and exec may hold a copy of the descriptor.
func (l *Lock) Release() error {
	return errors.Join(syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN), l.file.Close())
}

// held returns the error that names the holder of the lock. dev.json may describe an earlier, killed process.
func held(home string, pid int) *task.Error {
	info, err := ReadInfo(home)
	if err != nil || info.PID != pid {
		return task.Errorf(task.CodeConflict, "Cannot start: omoi process %d is using %s. Next: wait until it ends, or set OMOI_HOME to run a second one",
			pid, home)
	}
	return task.Errorf(task.CodeConflict, "Cannot start: omoi dev already runs in %s (pid %d): %s. Next: set OMOI_HOME to run a second one",
		home, pid, info.APIURL)
}
