package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
)

// load keeps the machine busy with processes of its own while it has users.
type load struct {
	processes int

	mu      sync.Mutex
	users   int
	running []*exec.Cmd
}

// newLoad returns a load of 24 processes, or of 2 in CI.
func newLoad(full bool) *load {
	const many, few = 24, 2
	if full {
		return &load{processes: many}
	}
	return &load{processes: few}
}

// begin starts the processes unless they run. stop ends them when it is the last one.
func (l *load) begin(t *testing.T) (stop func()) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.users++; len(l.running) < l.processes; {
		cmd := exec.Command("sh", "-c", "while kill -0 $PPID 2>/dev/null; do :; done")
		require.NoError(t, cmd.Start())
		l.running = append(l.running, cmd)
	}
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.users--; l.users == 0 {
			l.kill()
		}
	})
}

// end ends the processes that a failed test left.
func (l *load) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kill()
}

func (l *load) kill() {
	for _, cmd := range l.running {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	l.running = nil
}

// busy loads the machine, if wanted, until stop is called.
func (d *drill) busy(wanted bool) (stop func()) {
	if !wanted {
		return func() {}
	}
	return d.load.begin(d.t)
}

// loadAverage returns the load of the last minute; 0 where the system has none.
func loadAverage() float64 {
	raw, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(raw), " ")
	average, _ := strconv.ParseFloat(first, 64)
	return average
}

// frozenTemporal is the Temporal server, stopped for a time.
func frozenTemporal(long time.Duration, at []string, full bool) target {
	return target{name: "Temporal, frozen for " + long.String(), steps: at, full: full, retries: full, inject: func(d *drill, b *injection) bool {
		if !d.atRandom(b) {
			return false
		}
		resume := d.freeze("start-dev")
		timer := time.NewTimer(long)
		<-timer.C
		resume()
		return true
	}}
}

// hostGit is a git process of the worker.
func hostGit() target {
	return target{
		name: "host git", steps: []string{contract.EnsureBranch, contract.StartAgent, contract.CollectWork, contract.OpenPullRequest},
		inject: func(d *drill, b *injection) bool {
			worker := d.procs["worker"].cmd.Process.Pid
			return d.await(b, func() bool {
				for _, pid := range children(worker) {
					raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
					if program, _, _ := strings.Cut(string(raw), "\x00"); err == nil && filepath.Base(program) == "git" {
						return syscall.Kill(-pid, syscall.SIGKILL) == nil
					}
				}
				return false
			})
		},
	}
}

// children lists the child processes of a process.
func children(pid int) []int {
	var found []int
	files, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "children"))
	for _, file := range files {
		raw, _ := os.ReadFile(file) // the thread may have ended
		for one := range strings.FieldsSeq(string(raw)) {
			if child, err := strconv.Atoi(one); err == nil {
				found = append(found, child)
			}
		}
	}
	return found
}

// serverExclusions names the targets that have no fault at some steps, with the reason.
func serverExclusions() map[string]string {
	return map[string]string{
		"host git": "the worker runs git at these steps only",
		"Temporal, frozen for " + time.Minute.String(): "three steps only, since each fault takes a minute",
	}
}
