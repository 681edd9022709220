//go:build unix

// Package fence keeps a file for each sandbox that a provider makes on this machine: the lock of the process that creates or removes it, and after
// a delete the tombstone, which a create that comes late finds. A lock ends with its holder.
package fence

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// Lock waits for the lock of a file, which it makes where it is missing. Closing the file
// gives the lock back. Errors: ctx's if that ends first, [task.CodeUnavailable].
func Lock(ctx context.Context, path string) (*os.File, error) {
	const longest = 20 * time.Millisecond
	for delay := time.Millisecond; ; delay = min(2*delay, longest) {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("wait for the lock of a sandbox: %w", err)
		}
		file, err := TryLock(path)
		if err != nil || file != nil {
			return file, err
		}
		if err := wait.For(ctx, delay); err != nil {
			return nil, fmt.Errorf("wait for the lock of a sandbox: %w", err)
		}
	}
}

// TryLock is Lock that does not wait: nil without an error while another holds the lock.
func TryLock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, task.Errorf(task.CodeUnavailable, "cannot open the lock of a sandbox").WithCause(err)
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil && IsStill(file, path) {
		return file, nil
	}
	_ = file.Close()
	if err == nil || errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		return nil, nil //nolint:nilnil // nil: somebody else holds it
	}
	return nil, task.Errorf(task.CodeUnavailable, "cannot lock a sandbox").WithCause(err)
}

// IsStill reports whether path still names the open file: a lock on a removed one locks nothing.
func IsStill(file *os.File, path string) bool {
	open, err := file.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(path)
	return err == nil && os.SameFile(open, now)
}
