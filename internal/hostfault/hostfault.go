// Package hostfault tells faults of the host from faults of the files that it works on.
package hostfault

import (
	"errors"
	"strings"
	"syscall"
)

// errnos are what the kernel answers when the host lacks something: disk, quota, memory, open files. They pass,
// whatever the file was, so they are worth another try.
func errnos() []syscall.Errno {
	return []syscall.Errno{
		syscall.ENOSPC, syscall.EDQUOT, syscall.ENOMEM, syscall.EIO, syscall.EROFS, syscall.EMFILE, syscall.ENFILE,
		syscall.EAGAIN, syscall.EINTR, syscall.ESTALE, syscall.ENOBUFS,
	}
}

// Is reports whether err is a fault of the host.
func Is(err error) bool {
	for _, errno := range errnos() {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// InText reports whether a program that ran in the locale C printed a fault of the host. It is for programs whose
// exit code does not tell, such as git.
func InText(printed string) bool {
	printed = strings.ToLower(printed)
	for _, errno := range errnos() {
		if strings.Contains(printed, errno.Error()) {
			return true
		}
	}
	return strings.Contains(printed, "out of memory") || strings.Contains(printed, "died of signal")
}
