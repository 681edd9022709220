package proc

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/omoi-dev/omoi/internal/proctable"
	"github.com/omoi-dev/omoi/internal/sandbox"
)

// judge sets the fields for the end of a command. before is the number of memory kills at its start, -1 if unknown.
func (r *Result) judge(status syscall.WaitStatus, before int64) {
	r.ExitCode = status.ExitStatus()
	if status.Signaled() {
		r.ExitCode = 128 + int(status.Signal())
		r.Signal = cmp.Or(unix.SignalName(status.Signal()), "signal "+strconv.Itoa(int(status.Signal())))
	}
	if r.Outcome != Exited {
		return
	}
	after := oomKills()
	sig := status.Signal()
	switch {
	case before >= 0 && after > before && r.ExitCode != 0: // a command that survives the kill of a child succeeds
		r.Outcome, r.Note = OutOfMemory, "The kernel killed a process at the memory limit."
	case status.Signaled() && (sig == syscall.SIGXCPU || sig == syscall.SIGXFSZ):
		r.Outcome, r.Note = Limit, "The kernel killed the command at its limit of CPU time or file size."
	case r.ExitCode != 128+int(syscall.SIGKILL):
	case before < 0:
		r.Outcome, r.Note = Killed, "Killed by another process or by the memory limit: the memory cgroup cannot be read."
	default:
		r.Outcome, r.Note = Killed, "Killed by another process, not by the memory limit."
	}
}

// oomKills returns the number of kills by the memory limit, -1 if it cannot be read.
func oomKills() int64 {
	groups, _ := os.ReadFile("/proc/self/cgroup")
	var files []string
	for line := range strings.Lines(string(groups)) {
		if parts := strings.SplitN(strings.TrimSpace(line), ":", 3); len(parts) == 3 {
			files = append(files, memoryFile(parts[1], parts[2]))
		}
	}
	for _, path := range append(files, sandbox.MemoryKills) {
		if n, ok := proctable.OOMKills(path); ok {
			return n
		}
	}
	return -1
}

// memoryFile returns the file with a cgroup's number of memory kills; empty: the cgroup has none.
func memoryFile(controllers, group string) string {
	const root = "/sys/fs/cgroup"
	switch {
	case controllers == "":
		return filepath.Join(root, group, "memory.events")
	case slices.Contains(strings.Split(controllers, ","), "memory"):
		return filepath.Join(root, "memory", group, "memory.oom_control")
	}
	return ""
}

// ParseSignal parses a signal name with or without SIG, or a number; zero if it is neither.
func ParseSignal(text string) syscall.Signal {
	if n, err := strconv.Atoi(text); err == nil && n > 0 && n < 65 {
		return syscall.Signal(n)
	}
	return unix.SignalNum("SIG" + strings.TrimPrefix(strings.ToUpper(text), "SIG"))
}
