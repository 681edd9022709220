package devstack

import "syscall"

// attributes starts a child in its own session, so that Ctrl-C signals omoi only, and sets the signal that the kernel
// sends when omoi dies.
func attributes(as *syscall.Credential, die syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: die, Credential: as}
}
