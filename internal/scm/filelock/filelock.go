// Package filelock locks files between processes. The kernel drops a lock when the last process that has its file open ends.
package filelock

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

const poll = 5 * time.Millisecond

// Wait locks f for this holder alone, and waits for that as long as ctx lasts.
func Wait(ctx context.Context, f *os.File) error {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
