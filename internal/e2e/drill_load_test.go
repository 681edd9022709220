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

// load keeps the machine busy with processes of its own for as long as anybody wants that.
type load struct {
	processes int

	mu      sync.Mutex
	users   int
	running []*exec.Cmd
}

// newLoad answers a load above 20, or in CI a modest one.
func newLoad(full bool) *load {
	const many, few = 24, 2
	if full {
		return &load{processes: many}
	}
	return &load{processes: few}
}

// begin starts the processes unless they run; the answer ends them once nobody else wants them.
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

// end ends what a failed test left.
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

// busy loads the machine, if it is wanted, until stop is called.
func (d *drill) busy(wanted bool) (stop func()) {
	if !wanted {
		return func() {}
	}
	return d.load.begin(d.t)
}

// loadAverage is the machine's load over the last minute; 0 where the system does not say.
func loadAverage() float64 {
	raw, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(raw), " ")
	average, _ := strconv.ParseFloat(first, 64)
	return average
}

// frozenVictim is the Temporal server that answers nobody for so long.
func frozenVictim(long time.Duration, at []string, full bool) victim {
	return victim{name: "Temporal, frozen for " + long.String(), steps: at, full: full, retries: full, strike: func(d *drill, b *bout) bool {
		if !d.moment(b) {
			return false
		}
		resume := d.freeze("start-dev")
		timer := time.NewTimer(long)
		<-timer.C
		resume()
		return true
	}}
}

// gitVictim is a git command of the worker.
func gitVictim() victim {
	return victim{
		name: "git of the host", steps: []string{contract.EnsureBranch, contract.StartAgent, contract.CollectWork, contract.OpenPullRequest},
		strike: func(d *drill, b *bout) bool {
			worker := d.procs["worker"].cmd.Process.Pid
			return d.hunt(b, func() bool {
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

// children lists the processes that a process has started.
func children(pid int) []int {
	var found []int
	files, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "children"))
	for _, file := range files {
		raw, _ := os.ReadFile(file) // a thread that has ended has none
		for one := range strings.FieldsSeq(string(raw)) {
			if child, err := strconv.Atoi(one); err == nil {
				found = append(found, child)
			}
		}
	}
	return found
}

// ourAbsent says why parts of omoi are struck at some steps only.
func ourAbsent() map[string]string {
	return map[string]string{
		"git of the host": "only at these steps does the worker run git",
		"Temporal, frozen for " + time.Minute.String(): "three steps stand for all, as each takes a minute",
	}
}
