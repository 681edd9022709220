//go:build !linux

package proc

import (
	"errors"
	"syscall"
)

// Adopt returns an error, because it needs Linux.
func Adopt() error { return errors.New("become subreaper: unsupported on this system") }

func tied() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
