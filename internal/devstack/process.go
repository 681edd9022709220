package devstack

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/omoi-dev/omoi/internal/proctable"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// program is a command with its environment.
type program struct {
	name string
	path string
	args []string
	more func(ctx context.Context) []string // returns more arguments at each start; nil: none
	env  []string
	dir  string
	log  string              // file for stdout and stderr
	as   *syscall.Credential // nil: the user of omoi
	end  syscall.Signal      // requests a clean end
	die  syscall.Signal      // the kernel sends this signal when omoi dies (Linux)
	mark string              // file that identifies the process for the next start; empty: none
}

// child is a running program. One goroutine waits for its end.
type child struct {
	program
	process *os.Process
	begin   int64         // offset of its output in the log
	done    chan struct{} // closed after the end
	err     error         // result of Wait; valid after done is closed
}

// spawn starts the program on its own OS thread, which exists as long as the child: the kernel sends the death signal
// when the starting thread ends.
func (p program) spawn(ctx context.Context) (*child, error) {
	c := &child{program: p, done: make(chan struct{})}
	started := make(chan error, 1)
	go c.live(context.WithoutCancel(ctx), started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	return c, nil
}

func (c *child) live(ctx context.Context, started chan<- error) {
	runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
	defer close(c.done)
	log, err := os.OpenFile(c.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		started <- err
		return
	}
	if info, err := log.Stat(); err == nil {
		c.begin = info.Size()
	}
	args := c.args
	if c.more != nil {
		args = append(slices.Clone(args), c.more(ctx)...)
	}
	cmd := exec.CommandContext(ctx, c.path, args...) //nolint:gosec // found by find.go
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = c.env, c.dir, log, log
	cmd.SysProcAttr = attributes(c.as, c.die)
	err = cmd.Start()
	if err == nil {
		c.process = cmd.Process
		err = c.leaveMark()
	}
	started <- errors.Join(err, log.Close())
	if cmd.Process != nil {
		c.err = cmd.Wait()
	}
}

// stop sends the end signal, and SIGKILL after grace or when ctx ends.
func (c *child) stop(ctx context.Context, grace time.Duration) error {
	if err := c.process.Signal(c.end); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", c.name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	select {
	case <-c.done:
	case <-ctx.Done():
		if err := c.process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("kill %s: %w", c.name, err)
		}
		<-c.done
	}
	if c.mark == "" {
		return nil
	}
	if err := os.Remove(c.mark); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil // a restart that was interrupted has removed the mark
}

// mark identifies a component of the last start.
type mark struct {
	PID   int    `json:"pid"`
	Birth string `json:"birth"` // boot ID and start time; empty: unknown
}

func (c *child) leaveMark() error {
	if c.mark == "" {
		return nil
	}
	return writeJSON(c.mark, mark{PID: c.process.Pid, Birth: birth(c.process.Pid)})
}

// birth identifies a process beyond its PID, by boot ID and start time. It is empty for an ended process, a zombie, and
// on systems without /proc; there, processes left by a kill -9 must be ended by hand.
func birth(pid int) string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	p, there := proctable.Read(pid)
	if err != nil || !there || p.HasEnded() {
		return ""
	}
	return fmt.Sprintf("%s/%d", bytes.TrimSpace(boot), p.Start)
}

// endLeftover ends the process that a mark file identifies, if it still runs, and removes the file.
func endLeftover(ctx context.Context, path string, grace time.Duration) error {
	var m mark
	err := readJSON(path, &m)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil && m.Birth != "" && birth(m.PID) == m.Birth {
		err = endPID(ctx, m.PID, func() bool { return birth(m.PID) == m.Birth }, syscall.SIGTERM, grace)
	}
	return errors.Join(err, os.Remove(path))
}

// endPID sends sig, then SIGKILL after grace, as long as alive returns true.
func endPID(ctx context.Context, pid int, alive func() bool, sig syscall.Signal, grace time.Duration) error {
	for _, s := range []syscall.Signal{sig, syscall.SIGKILL} {
		if !alive() {
			return nil
		}
		if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("end process %d of the last start: %w", pid, err)
		}
		if await(ctx, grace, func() bool { return !alive() }) == nil {
			return nil
		}
	}
	return fmt.Errorf("process %d of the last start does not end, not even after SIGKILL", pid)
}

// await polls fact every 20 ms until it returns true. The error reports the end of limit or ctx.
func await(ctx context.Context, limit time.Duration, fact func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for !fact() {
		if err := wait.For(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// exitError returns why a child has ended at its start. The error is [syscall.EADDRINUSE] too if the output reports a
// port in use.
func (c *child) exitError() error {
	said := c.said()
	cause := c.err
	if strings.Contains(said, syscall.EADDRINUSE.Error()) {
		cause = errors.Join(cause, syscall.EADDRINUSE)
	}
	return task.Errorf(task.CodeUnavailable, "%s exited at startup (%v): %s\nLog: %s. Next: omoi doctor",
		c.name, c.err, lastWords(said), c.log).WithCause(cause)
}

// said returns the output of this child, at most 1 MiB.
func (c *child) said() string {
	file, err := os.Open(c.log)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }() // the file was only read
	content, err := io.ReadAll(io.NewSectionReader(file, c.begin, 1<<20))
	if err != nil {
		return ""
	}
	return string(content)
}

// lastWords returns the first line of a panic, or else the last five lines.
func lastWords(text string) string {
	const most = 5
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range lines {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return line
		}
	}
	return cmp.Or(strings.Join(lines[max(0, len(lines)-most):], "\n"), "no output")
}
