//go:build !linux

package devstack

import "syscall"

// attributes puts a child into a session of its own. Only Linux can tie its life to ours.
func attributes(as *syscall.Credential, _ syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Credential: as}
}

// birth is not known here; what a kill -9 left must be ended by hand.
func birth(int) string { return "" }

// worksIn is not known here; PostgreSQL judges its own pid file.
func worksIn(int, string) bool { return true }
