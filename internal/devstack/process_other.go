//go:build !linux

package devstack

import (
	"os"
	"syscall"
)

// attributes puts a child into a session of its own. Only Linux can tie its life to ours.
func attributes(as *account, _ os.Signal) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if as != nil {
		attr.Credential = &syscall.Credential{Uid: as.uid, Gid: as.gid}
	}
	return attr
}

// birth is not known here; what a kill -9 left must be ended by hand.
func birth(int) string { return "" }

// worksIn is not known here; PostgreSQL judges its own pid file.
func worksIn(int, string) bool { return true }
