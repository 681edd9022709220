package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Locked bytes of life.lock: the first by the shim of the command, the second, shared, by shims of Attach. These are
// record locks, not flock, because the kernel names the holder of a record lock. A record lock ends with its process,
// or when the process closes any descriptor of the file. So a shim opens the file once, and no other program locks it.
const (
	byteAgent = 0
	byteExec  = 1
)

type span struct{ start, length int64 }

//nolint:gochecknoglobals // a compile-time table
var (
	spanAgent = span{start: byteAgent, length: 1}
	spanAll   = span{start: byteAgent, length: byteExec + 1}
)

// hold locks one byte. hold returns false if another process holds the lock.
func hold(file *os.File, kind int16, start int64) (bool, error) {
	lock := unix.Flock_t{Type: kind, Start: start, Len: 1}
	err := unix.FcntlFlock(file.Fd(), unix.F_SETLK, &lock)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("lock %s: %w", file.Name(), err)
	}
	return true, nil
}

// holder returns the PID of a process that holds a lock within s; 0 if there is none.
func holder(path string, s span) (int, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, unavailable("open a life lock", err)
	}
	defer file.Close() //nolint:errcheck // only read
	lock := unix.Flock_t{Type: unix.F_WRLCK, Start: s.start, Len: s.length}
	if err := unix.FcntlFlock(file.Fd(), unix.F_GETLK, &lock); err != nil {
		return 0, unavailable("query a life lock", err)
	}
	if lock.Type == unix.F_UNLCK {
		return 0, nil
	}
	return int(lock.Pid), nil
}

// grip identifies a process beyond its PID: its descriptor was opened while the kernel named the process as the holder
// of a lock.
type grip struct {
	pid int
	fd  int
}

// seize opens the process that holds s; nil if there is none.
func seize(path string, s span) (*grip, error) {
	pid, err := holder(path, s)
	if err != nil || pid <= 0 {
		return nil, err
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil, nil //nolint:nilnil // the process has just ended
	}
	if err != nil {
		return nil, unavailable("open a process", err)
	}
	again, err := holder(path, s)
	if err != nil || again != pid {
		_ = unix.Close(fd)
		return nil, err
	}
	return &grip{pid: pid, fd: fd}, nil
}

func (g *grip) signal(sig unix.Signal) {
	// ESRCH means that the process has ended, which the caller waits for.
	_ = unix.PidfdSendSignal(g.fd, sig, nil, 0)
}

func (g *grip) close() { _ = unix.Close(g.fd) }

// await waits until the process has ended, at most for limit. await returns false if the process still runs.
func (g *grip) await(ctx context.Context, limit time.Duration) (bool, error) {
	deadline := time.Now().Add(limit)
	for {
		left := min(time.Until(deadline), 50*time.Millisecond)
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(g.fd), Events: unix.POLLIN}}, int(max(left, 0)/time.Millisecond)+1) //nolint:gosec // G115: a descriptor
		switch {
		case n > 0:
			return true, nil
		case err != nil && !errors.Is(err, unix.EINTR):
			return false, unavailable("wait for a process", err)
		case ctx.Err() != nil:
			return false, ctx.Err()
		case time.Now().After(deadline):
			return false, nil
		}
	}
}
