package devstack

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// attributes puts a child into a session of its own, so that a terminal's Ctrl-C reaches
// us alone, and ties its life to ours.
func attributes(as *syscall.Credential, die syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: die, Credential: as}
}

// birth identifies a live process beyond its pid: boot id and start time. It is empty for
// one that is gone or a zombie.
func birth(pid int) string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	content, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return ""
	}
	_, rest, found := strings.Cut(string(content), ") ")
	fields := strings.Fields(rest)
	if !found || len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return fmt.Sprintf("%s/%s", strings.TrimSpace(string(boot)), fields[19])
}

// worksIn reports whether a live process has dir as its working directory, as a
// postmaster has its data directory.
func worksIn(pid int, dir string) bool {
	if birth(pid) == "" {
		return false
	}
	cwd, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "cwd"))
	return err == nil && cwd == dir
}
