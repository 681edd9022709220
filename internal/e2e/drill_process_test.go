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

// sandboxTargets returns the process that starts the agent or a command in a local sandbox, and omoi-agent.
func sandboxTargets() []target {
	return []target{
		processTarget("shim", []string{contract.StartAgent, contract.CollectWork, contract.Salvage}, isShim),
		processTarget("agent", []string{contract.StartAgent, contract.CollectWork}, isAgent),
	}
}

func sandboxExclusions() map[string]string {
	return map[string]string{
		"shim":  "it runs beside the agent or a command: none runs before StartAgent or after Salvage",
		"agent": "it runs from StartAgent until it ends or CollectWork ends it",
	}
}

func isShim(argv []string) bool  { return slices.Contains(argv, "shim") }
func isAgent(argv []string) bool { return path.Base(argv[0]) == "omoi-agent" }

// processTarget is a process of a local sandbox, identified by its command line.
func processTarget(name string, at []string, known func(argv []string) bool) target {
	return target{name: name, retries: true, inside: true, steps: at, inject: func(d *drill, b *injection) bool {
		seen := processScan{}
		seen.recent() // older processes belong to other sandboxes
		name := task.SandboxName(d.sandboxOf(b))
		below := func() []int { return seen.below(name) }
		d.hold(b, below)
		return d.await(b, func() bool {
			met := signalAll(below(), known, syscall.SIGKILL)
			if !met && b.step == contract.StartAgent && len(below()) > 1 {
				met = d.withStoppedWorker(func() bool { return signalAll(below(), known, syscall.SIGKILL) })
			}
			return met
		})
	}}
}

// withStoppedWorker calls inject while the worker is stopped, so that the process that it has just started is found before
// the step ends.
func (d *drill) withStoppedWorker(inject func() bool) bool {
	worker := d.procs["worker"].cmd.Process
	_ = worker.Signal(syscall.SIGSTOP)
	defer func() { _ = worker.Signal(syscall.SIGCONT) }()
	return waitFor(5*time.Second, inject)
}

// sandboxOf waits for the first sandbox of a task and returns its ID.
func (d *drill) sandboxOf(b *injection) string {
	var id string
	waitFor(patience, func() bool {
		return d.pool.QueryRow(context.Background(), `SELECT sandbox_id FROM attempts WHERE task_id = $1 AND number = 1`, b.made.ID).Scan(&id) == nil
	})
	return id
}

// hold freezes an agent that has reported its completion, so that it still runs at CollectWork, which then has to
// kill it.
func (d *drill) hold(b *injection, processes func() []int) {
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

// signalAll signals the processes that match known, and reports whether it signaled one.
func signalAll(pids []int, known func(argv []string) bool, signal syscall.Signal) bool {
	met := false
	for _, pid := range pids {
		if known(argvOf(pid)) {
			met = syscall.Kill(pid, signal) == nil || met
		}
	}
	return met
}

// processesBelow lists the processes whose command line, or that of an ancestor, contains text.
func processesBelow(text string) []int { return processScan{}.below(text) }

// processScan lists processes repeatedly. It reads new ones only, to be faster than the processes that it looks for.
type processScan map[int]time.Time

// below lists the processes whose command line, or that of an ancestor, contains text. The command line of a process
// inside a sandbox does not name the sandbox.
func (l processScan) below(text string) []int {
	named := func(pid int) bool {
		return slices.ContainsFunc(argvOf(pid), func(arg string) bool { return strings.Contains(arg, text) })
	}
	found := belowAny(l.recent(), named)
	for _, pid := range found {
		l[pid] = time.Now().Add(time.Hour) // it stays recent
	}
	return found
}

// recent lists the processes that are new enough to still change their command line.
func (l processScan) recent() []int {
	const settles = 300 * time.Millisecond
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
		if time.Since(l[pid]) < settles {
			found = append(found, pid)
		}
	}
	return found
}

// belowAny lists the processes that match known, and their descendants.
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
	raw, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline")) // the process may have ended
	return strings.Split(string(raw), "\x00")
}

// parentOf returns the parent of a process. The fields are read after the name, which may contain spaces and brackets.
func parentOf(pid int) int {
	raw, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat")) // the process may have ended
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
