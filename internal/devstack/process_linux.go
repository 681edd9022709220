package devstack

import "syscall"

// attributes puts a child into a session of its own, so that a terminal's Ctrl-C reaches
// us alone, and ties its life to ours.
func attributes(as *syscall.Credential, die syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: die, Credential: as}
}
