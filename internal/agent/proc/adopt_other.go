//go:build !linux

package proc

import (
	"errors"
	"syscall"
)

// Adopt needs Linux, as every agent in a sandbox does.
func Adopt() error { return errors.New("become subreaper: this is not Linux") }

func tied() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
