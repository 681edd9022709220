package spool

import (
	"os"
	"syscall"
)

// datasync makes the content of a file survive a crash of the machine.
func datasync(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
