// Package proc runs commands of the agent and kills all their processes, including children that left their process
// group or were orphaned: it scans the process table until none is left.
package proc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/omoi-dev/omoi/internal/uptime"
)

// Outcome is the way a command ended.
type Outcome string

// Values of Outcome.
const (
	Exited      Outcome = "exited"        // by itself; see the exit code
	Timeout     Outcome = "timeout"       // ended by omoi-agent at its timeout
	Stopped     Outcome = "stopped"       // ended by omoi-agent at an interrupt or a stop
	OutOfMemory Outcome = "out_of_memory" // killed by the memory limit, or a child was
	Limit       Outcome = "limit"         // killed by another limit (CPU time, file size)
	Killed      Outcome = "killed"        // killed by another process
)

// Command is a command to run.
type Command struct {
	Args  []string
	Dir   string
	Env   []string
	Stdin io.Reader
	// Timeout is the maximum duration; zero: none.
	Timeout time.Duration
	// Grace is the time between SIGTERM and SIGKILL; zero: 2 s.
	Grace time.Duration
	// Interrupt, when closed, sends SIGINT to the command as a terminal does, and kills it if it does not stop. May be
	// nil.
	Interrupt <-chan struct{}
	// Capture is the maximum bytes of kept output, half from its start and half from its end; zero: 256 KiB.
	Capture int
	// Output gets all output. May be nil.
	Output io.Writer
	// Stdout gets the standard output. The kept output is then standard error only. The caller closes it. May be nil.
	Stdout *os.File
}

// Result is the result of a command.
type Result struct {
	ExitCode   int    // as in a shell: 128 + signal after a signal
	Signal     string // name of the signal that ended the command; empty: none
	Outcome    Outcome
	Note       string // one sentence about an unusual outcome
	Output     string // standard output and standard error
	FullLength int64  // bytes of output before it was cut
	Duration   time.Duration
	Killed     int // number of killed processes
	Survivors  int // number of processes that could not be killed
}

// Runner starts commands. A process has one runner: a child in its own process group that the runner did not start
// counts as an orphan of a command.
type Runner struct {
	// Hide removes secrets from the output before it is cut; nil: keeps all. Hide is set before the first command.
	Hide func(text string) string

	mu  sync.Mutex
	own map[int]chan struct{} // commands started and not yet waited for, by PID; closed after the wait
}

// Run runs a command to its end. Background processes that it leaves behind run until [Runner.KillAll], unless Run
// ended the command. The error is about the start only.
func (r *Runner) Run(ctx context.Context, c Command) (Result, error) {
	out := &capture{half: cmp.Or(c.Capture, 256<<10) / 2, also: c.Output, hide: r.Hide, drain: make(chan struct{})}
	before := oomKills()
	began := time.Now()
	cmd, err := r.start(c, out)
	if err != nil {
		return Result{}, err
	}
	done := make(chan syscall.WaitStatus, 1)
	go func() { done <- r.wait(cmd) }()
	res := Result{Outcome: Exited, ExitCode: -1}
	status, ended := r.await(ctx, c, cmd.Process.Pid, done, &res)
	out.settle()
	r.Reap()
	res.Duration = time.Since(began)
	res.Output, res.FullLength = out.text()
	if ended {
		res.judge(status, before)
	}
	return res, nil
}

// await waits for the end of the command, or ends it at its timeout or when ctx ends. ended is false if the process
// survives SIGKILL.
func (r *Runner) await(ctx context.Context, c Command, pid int, done chan syscall.WaitStatus, res *Result) (status syscall.WaitStatus, ended bool) {
	limit := ctx
	if c.Timeout > 0 { // the time in which the agent was frozen does not count
		var cancel context.CancelFunc
		limit, cancel = uptime.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	select {
	case status = <-done:
		return status, true
	case <-c.Interrupt:
		res.Outcome = Stopped
		res.Killed, res.Survivors = r.interrupt(ctx, pid, c.Grace, done)
	case <-limit.Done():
		res.Outcome = Timeout
		if ctx.Err() != nil {
			res.Outcome = Stopped
		}
		res.Killed, res.Survivors = r.end(pid, c.Grace, done)
	}
	select {
	case status = <-done:
		return status, true
	case <-time.After(5 * time.Second):
		return status, false
	}
}

// start starts the command in its own process group. Its output is a pipe that is read while any process holds it, so
// that background processes do not block.
func (r *Runner) start(c Command, out *capture) (*exec.Cmd, error) {
	if len(c.Args) == 0 {
		return nil, errors.New("no command")
	}
	cmd := exec.Command(c.Args[0], c.Args[1:]...) //nolint:gosec,noctx // the runner ends the command itself
	cmd.Dir, cmd.Env, cmd.Stdin = c.Dir, c.Env, c.Stdin
	pipe, err := out.pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = pipe, pipe
	if c.Stdout != nil {
		cmd.Stdout = c.Stdout
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	over := make(chan struct{})
	err = StartTied(cmd, over)
	_ = pipe.Close()
	if err != nil {
		out.settle()
		return nil, fmt.Errorf("start command: %w", err)
	}
	if r.own == nil {
		r.own = map[int]chan struct{}{}
	}
	r.own[cmd.Process.Pid] = over
	return cmd, nil
}

// StartTied starts a command that dies with this process. The kernel binds the command to the thread that started it,
// so the thread is kept until the command has ended, which over says.
func StartTied(cmd *exec.Cmd, over <-chan struct{}) error {
	cmd.SysProcAttr = tied()
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			<-over
		}
	}()
	return <-started
}

func (r *Runner) wait(cmd *exec.Cmd) syscall.WaitStatus {
	_ = cmd.Wait() // the status below says more
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.own[cmd.Process.Pid])
	delete(r.own, cmd.Process.Pid)
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	return status
}

// interruptWait is the time that a command gets to stop after an interrupt.
const interruptWait = 2 * time.Second

// interrupt sends SIGINT to the whole group, and kills the rest after interruptWait.
func (r *Runner) interrupt(ctx context.Context, pid int, grace time.Duration, done chan syscall.WaitStatus) (killed, left int) {
	family := r.family(pid)
	_ = syscall.Kill(-pid, syscall.SIGINT)
	select {
	case status := <-done:
		done <- status
		return r.killTree(pid, family)
	case <-time.After(interruptWait):
	case <-ctx.Done():
	}
	return r.end(pid, min(grace, time.Second), done)
}

// end sends SIGTERM to all processes of the command, waits for the first one, and kills the rest.
func (r *Runner) end(pid int, grace time.Duration, done chan syscall.WaitStatus) (killed, left int) {
	family := r.family(pid)
	_ = syscall.Kill(-pid, syscall.SIGTERM)
	for _, p := range family {
		signal(p, syscall.SIGTERM)
	}
	select {
	case status := <-done:
		done <- status
	case <-time.After(cmp.Or(grace, 2*time.Second)):
	}
	return r.killTree(pid, family)
}
