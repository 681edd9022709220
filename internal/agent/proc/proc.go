// Package proc runs commands of the agent and ends their whole process trees, including children that left their
// process group or were orphaned: it scans the process table until none is left.
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

// Outcome says how a command ended.
type Outcome string

// The outcomes.
const (
	Exited      Outcome = "exited"        // by itself; the exit code tells the rest
	Timeout     Outcome = "timeout"       // ended by us at its time limit
	Stopped     Outcome = "stopped"       // ended by us because the agent was interrupted or stopped
	OutOfMemory Outcome = "out_of_memory" // the kernel killed it, or a part of it, at the memory limit
	Limit       Outcome = "limit"         // the kernel ended it at another limit (CPU time, file size)
	Killed      Outcome = "killed"        // killed by another process
)

// Command is what to run.
type Command struct {
	Args  []string
	Dir   string
	Env   []string
	Stdin io.Reader
	// Timeout ends the command; zero is none.
	Timeout time.Duration
	// Grace is the time between SIGTERM and SIGKILL; zero is 2 s.
	Grace time.Duration
	// Interrupt, once closed, asks the command to stop as a terminal does; what does not is ended. May be nil.
	Interrupt <-chan struct{}
	// Capture bounds the kept output: its beginning and its end; zero is 256 KiB.
	Capture int
	// Output gets all output as it comes, beside what is kept. May be nil.
	Output io.Writer
	// Stdout gets standard output instead: what is kept is standard error alone. The caller
	// closes it. May be nil.
	Stdout *os.File
}

// Result is what became of a command.
type Result struct {
	ExitCode   int    // as a shell counts: 128 + signal for a signal
	Signal     string // name of the signal that ended it; empty if none did
	Outcome    Outcome
	Note       string // one sentence for a reader where the outcome is not plain
	Output     string // standard output and error together
	FullLength int64  // bytes of output before it was cut
	Duration   time.Duration
	Killed     int // processes that we ended
	Survivors  int // processes that could not be ended
}

// Runner starts commands. One runner serves one process: a child in a process group of its
// own that this runner did not start is taken for an orphan of a command.
type Runner struct {
	// Hide takes secrets out of the output that is kept, before anything is cut off it; nil
	// keeps all. It is set before the first command.
	Hide func(text string) string

	mu  sync.Mutex
	own map[int]chan struct{} // started by us and not yet waited for; closed when it has been
}

// Run runs a command to its end. Background processes that it leaves behind live on until
// [Runner.KillAll], unless the command was ended by us. The error is about starting only.
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

// await waits for the command, or ends it when ctx ends or its time is up. ended is false
// for a process that not even SIGKILL ends.
func (r *Runner) await(ctx context.Context, c Command, pid int, done chan syscall.WaitStatus, res *Result) (status syscall.WaitStatus, ended bool) {
	limit := ctx
	if c.Timeout > 0 { // of time in which the agent ran: its commands are frozen with it
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

// start starts the command in a process group of its own. Its output is a pipe that is read while any process holds it,
// so that background processes do not block.
func (r *Runner) start(c Command, out *capture) (*exec.Cmd, error) {
	if len(c.Args) == 0 {
		return nil, errors.New("no command")
	}
	cmd := exec.Command(c.Args[0], c.Args[1:]...) //nolint:gosec,noctx // running commands is what it is for; the tree is ended by us
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
	err = startTied(cmd, over)
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

// startTied starts a command that dies with this process. The kernel ties it to the thread that
// has started it, which is therefore kept until the command is over.
func startTied(cmd *exec.Cmd, over <-chan struct{}) error {
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

// interruptWait is how long a command may take to stop when it is interrupted.
const interruptWait = 2 * time.Second

// interrupt sends what a terminal sends, to the whole group, and ends what is left a moment later.
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

// end asks the tree to end, waits for its root, then makes sure.
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
