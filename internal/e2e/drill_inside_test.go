package e2e_test

import (
	"bytes"
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// insideVictims are the process that holds a local sandbox together, or runs a command in it, and the agent's program.
func insideVictims() []victim {
	return []victim{
		insideVictim("shim", []string{contract.StartAgent, contract.CollectWork, contract.Salvage}, isShim),
		insideVictim("agent", []string{contract.StartAgent, contract.CollectWork}, isAgent),
	}
}

func insideAbsent() map[string]string {
	return map[string]string{
		"shim":  "it runs with the agent, or with a command in the sandbox: before StartAgent and after Salvage, which ends whatever is left, there is none",
		"agent": "it runs from StartAgent until it is done or CollectWork has ended it",
	}
}

func isShim(argv []string) bool  { return slices.Contains(argv, "shim") }
func isAgent(argv []string) bool { return path.Base(argv[0]) == "omoi-agent" }

// insideVictim is a process of a local sandbox, known by its command line.
func insideVictim(name string, at []string, known func(argv []string) bool) victim {
	return victim{name: name, retries: true, inside: true, steps: at, strike: func(d *drill, b *bout) bool {
		seen := lookout{}
		seen.fresh() // what is here before it is none of it
		box := task.SandboxName(d.boxOf(b))
		below := func() []int { return seen.below(box) }
		d.hold(b, below)
		return d.hunt(b, func() bool {
			met := signalAll(below(), known, syscall.SIGKILL)
			if !met && b.step == contract.StartAgent && len(below()) > 1 {
				met = d.halted(func() bool { return signalAll(below(), known, syscall.SIGKILL) })
			}
			return met
		})
	}}
}

// halted strikes while the worker stands still, which has just had something started, and cannot end its step. Some
// seconds are enough for what was started.
func (d *drill) halted(strike func() bool) bool {
	worker := d.procs["worker"].cmd.Process
	_ = worker.Signal(syscall.SIGSTOP)
	defer func() { _ = worker.Signal(syscall.SIGCONT) }()
	return waitFor(5*time.Second, strike)
}

// boxOf waits for the first sandbox of a task to have its id.
func (d *drill) boxOf(b *bout) string {
	var id string
	waitFor(patience, func() bool {
		return d.pool.QueryRow(context.Background(), `SELECT sandbox_id FROM attempts WHERE task_id = $1 AND number = 1`, b.made.ID).Scan(&id) == nil
	})
	return id
}

// hold freezes an agent that is to be found alive by CollectWork once it has said that it is done. It would end at the
// first word otherwise; so the step has to end it by force.
func (d *drill) hold(b *bout, processes func() []int) {
	if b.step != contract.CollectWork {
		return
	}
	done := func() bool {
		return d.count(`SELECT count(*) FROM sandboxes s JOIN sandbox_events e ON e.sandbox_id = s.id
			WHERE s.task_id = $1 AND e.event_type = 'agent.completed'`, b.made.ID) > 0
	}
	if waitFor(patience, done) {
		signalAll(processes(), isAgent, syscall.SIGSTOP)
	}
}

// signalAll signals those of the processes that are known, and reports whether there was one.
func signalAll(pids []int, known func(argv []string) bool, signal syscall.Signal) bool {
	met := false
	for _, pid := range pids {
		if known(argvOf(pid)) {
			met = syscall.Kill(pid, signal) == nil || met
		}
	}
	return met
}

// processesBelow lists the processes whose command line, or that of one above them, names text.
func processesBelow(text string) []int { return lookout{}.below(text) }

// lookout looks at all processes again and again, and so only at new ones: it has to be quicker than what it looks for.
type lookout map[int]time.Time

// below lists the processes whose command line, or that of one above them, names text: what runs inside does not know
// where it is.
func (l lookout) below(text string) []int {
	named := func(pid int) bool {
		return slices.ContainsFunc(argvOf(pid), func(arg string) bool { return strings.Contains(arg, text) })
	}
	found := belowAny(l.fresh(), named)
	for _, pid := range found {
		l[pid] = time.Now().Add(time.Hour) // it stays in sight
	}
	return found
}

// fresh are the processes that were not seen for so long that they would have become what they are to be.
func (l lookout) fresh() []int {
	const becomes = 300 * time.Millisecond
	entries, _ := os.ReadDir("/proc")
	var found []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if _, known := l[pid]; !known {
			l[pid] = time.Now()
		}
		if time.Since(l[pid]) < becomes {
			found = append(found, pid)
		}
	}
	return found
}

// belowAny lists those of the processes of which one is true, and all below them.
func belowAny(pids []int, known func(pid int) bool) []int {
	children := map[int][]int{}
	var found []int
	for _, pid := range pids {
		parent := parentOf(pid)
		children[parent] = append(children[parent], pid)
		if known(pid) {
			found = append(found, pid)
		}
	}
	for i := 0; i < len(found); i++ {
		for _, child := range children[found[i]] {
			if !slices.Contains(found, child) {
				found = append(found, child)
			}
		}
	}
	return found
}

func argvOf(pid int) []string {
	raw, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline")) // it may be gone
	return strings.Split(string(raw), "\x00")
}

// parentOf reads what stands behind the name, which may hold anything: state and parent.
func parentOf(pid int) int {
	raw, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat")) // likewise
	fields := bytes.Fields(raw[bytes.LastIndexByte(raw, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(string(fields[1]))
	return parent
}

func localAlive(r *rig) int {
	return len(slices.DeleteFunc(processesWith(r.env["OMOI_SANDBOX_DIR"]), func(pid int) bool { return pid == os.Getpid() }))
}
