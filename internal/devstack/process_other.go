//go:build !linux

package devstack

import "syscall"

// attributes puts a child into a session of its own. Only Linux can tie its life to ours.
func attributes(as *syscall.Credential, _ syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Credential: as}
}
