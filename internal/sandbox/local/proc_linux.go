package local

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

func procPath(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// allPIDs lists the processes of this machine.
func allPIDs() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close() //nolint:errcheck // only read
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// stat is what we use of /proc/PID/stat.
type stat struct {
	parent  int
	zombie  bool
	stopped bool // by a signal or a debugger
	waits   bool // in the kernel, and no signal but SIGKILL reaches it
	start   uint64
}

// readStat reads a process; ok is false if it is not there.
func readStat(pid int) (s stat, ok bool) {
	text, err := os.ReadFile(procPath(pid, "stat"))
	if err != nil {
		return s, false
	}
	end := bytes.LastIndex(text, []byte(") ")) // a name may hold anything, so look for its last end
	if end < 0 {
		return s, false
	}
	fields := strings.Fields(string(text[end+2:]))
	if len(fields) < 20 {
		return s, false
	}
	s.zombie = fields[0] == "Z" || fields[0] == "X"
	s.stopped = fields[0] == "T" || fields[0] == "t"
	s.waits = fields[0] == "D"
	s.parent, _ = strconv.Atoi(fields[1])
	s.start, err = strconv.ParseUint(fields[19], 10, 64)
	return s, err == nil
}

func identify(pid int) process {
	s, _ := readStat(pid)
	return process{PID: pid, Start: s.start}
}

// alive reports whether p itself, not a successor of its id, runs.
func (p process) alive() bool {
	if p.PID <= 0 {
		return false
	}
	s, ok := readStat(p.PID)
	return ok && !s.zombie && s.start == p.Start
}

// pidNS is the inode of the process namespace of pid; 0 if it cannot be told.
func pidNS(pid int) uint64 {
	link, err := os.Readlink(procPath(pid, "ns/pid"))
	if err != nil {
		return 0
	}
	var inode uint64
	if _, err := fmt.Sscanf(link, "pid:[%d]", &inode); err != nil {
		return 0
	}
	return inode
}

func bootID() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// descendants are the living processes below pid, by their present parents.
func descendants(pid int) []process {
	children := map[int][]int{}
	for _, one := range allPIDs() {
		if s, ok := readStat(one); ok {
			children[s.parent] = append(children[s.parent], one)
		}
	}
	var found []process
	for queue := children[pid]; len(queue) > 0; queue = queue[1:] {
		if s, ok := readStat(queue[0]); ok && !s.zombie {
			found = append(found, process{PID: queue[0], Start: s.start})
		}
		queue = append(queue, children[queue[0]]...)
	}
	return found
}

// firstChild is the oldest living child of pid: in a namespace, the command below its first process.
func firstChild(pid int) (process, bool) {
	var best process
	for _, one := range allPIDs() {
		s, ok := readStat(one)
		if ok && s.parent == pid && (best.PID == 0 || s.start < best.Start) {
			best = process{PID: one, Start: s.start}
		}
	}
	return best, best.PID != 0
}
