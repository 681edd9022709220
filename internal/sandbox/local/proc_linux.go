package local

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/proctable"
)

func procPath(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

func identify(pid int) process {
	s, _ := proctable.Read(pid)
	return process{PID: pid, Start: s.Start}
}

// alive reports whether p itself, not a successor of its id, runs.
func (p process) alive() bool {
	if p.PID <= 0 {
		return false
	}
	s, ok := proctable.Read(p.PID)
	return ok && !s.HasEnded() && s.Start == p.Start
}

// pidNS is the inode of the process namespace of pid; 0 if it cannot be told.
func pidNS(pid int) uint64 {
	link, _ := os.Readlink(procPath(pid, "ns/pid"))
	var inode uint64
	_, _ = fmt.Sscanf(link, "pid:[%d]", &inode)
	return inode
}

func bootID() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text))
}

// descendants are the living processes below pid, by their present parents.
func descendants(pid int) []process {
	children := map[int][]int{}
	for _, one := range proctable.IDs() {
		if s, ok := proctable.Read(one); ok {
			children[s.Parent] = append(children[s.Parent], one)
		}
	}
	var found []process
	for queue := children[pid]; len(queue) > 0; queue = queue[1:] {
		if s, ok := proctable.Read(queue[0]); ok && !s.HasEnded() {
			found = append(found, process{PID: queue[0], Start: s.Start})
		}
		queue = append(queue, children[queue[0]]...)
	}
	return found
}

// firstChild is the oldest living child of pid: in a namespace, the command below its first process.
func firstChild(pid int) (process, bool) {
	var best process
	for _, one := range proctable.IDs() {
		s, ok := proctable.Read(one)
		if ok && s.Parent == pid && (best.PID == 0 || s.Start < best.Start) {
			best = process{PID: one, Start: s.Start}
		}
	}
	return best, best.PID != 0
}
