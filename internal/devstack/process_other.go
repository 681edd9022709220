//go:build !linux

package devstack

import "syscall"

// attributes starts a child in its own session. Systems other than Linux send no signal when omoi dies.
func attributes(as *syscall.Credential, _ syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Credential: as}
}
