package spool

import (
	"io"
	"os"
	"syscall"
)

// Commands of locks that belong to the open file, not to the process; Linux has them since
// 3.15, package syscall has no names for them.
const (
	ofdGetLock = 36
	ofdSetLock = 37
)

func lockFile(f *os.File) error {
	l := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	return syscall.FcntlFlock(f.Fd(), ofdSetLock, &l)
}

// unlock gives the lock back at once; a close alone would leave it, for a moment, with a
// child that this process is just forking.
func unlock(f *os.File) {
	l := syscall.Flock_t{Type: syscall.F_UNLCK, Whence: io.SeekStart}
	_ = syscall.FcntlFlock(f.Fd(), ofdSetLock, &l) // the close that follows does it too
}

func isLocked(f *os.File) (bool, error) {
	l := syscall.Flock_t{Type: syscall.F_RDLCK, Whence: io.SeekStart}
	if err := syscall.FcntlFlock(f.Fd(), ofdGetLock, &l); err != nil {
		return false, err
	}
	return l.Type != syscall.F_UNLCK, nil
}
