package spool

import (
	"io"
	"os"
	"syscall"
)

// Commands of open file description locks. Linux has them since 3.15; package syscall does not name them.
const (
	ofdGetLock = 36
	ofdSetLock = 37
)

func lockFile(f *os.File) error {
	l := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	return syscall.FcntlFlock(f.Fd(), ofdSetLock, &l)
}

// unlock releases the lock immediately. After a close alone, a child that this process is forking could hold the lock
// for a moment.
func unlock(f *os.File) {
	l := syscall.Flock_t{Type: syscall.F_UNLCK, Whence: io.SeekStart}
	_ = syscall.FcntlFlock(f.Fd(), ofdSetLock, &l) // the close that follows releases it too
}

func isLocked(f *os.File) (bool, error) {
	l := syscall.Flock_t{Type: syscall.F_RDLCK, Whence: io.SeekStart}
	if err := syscall.FcntlFlock(f.Fd(), ofdGetLock, &l); err != nil {
		return false, err
	}
	return l.Type != syscall.F_UNLCK, nil
}
