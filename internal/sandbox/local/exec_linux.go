package local

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/creack/pty"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

const defaultExecTimeout = time.Minute

// Attach runs a command with the folders of the sandbox, while the agent runs or after its end. When Attach returns,
// all processes of the command are dead. A command with a terminal gets a new terminal, so that the sandbox has no
// access to the user's. Errors: [task.CodeUnavailable] after the timeout, [task.CodeExhausted] if the command filled
// the disk, and the error of ctx if that ends first.
func (p *Provider) Attach(ctx context.Context, labels sandbox.Labels, cmd sandbox.Command, streams sandbox.Streams) (int, error) {
	f, l, err := p.prepareExec(ctx, labels, cmd)
	if err != nil {
		return -1, err
	}
	controlR, controlW, err := os.Pipe()
	if err != nil {
		return -1, unavailable("create a pipe", err)
	}
	defer controlR.Close() //nolint:errcheck // the shim has its own descriptor
	// Closing this end, also by the death of the worker, makes the shim kill the command.
	stop := context.AfterFunc(ctx, func() { _ = controlW.Close() })
	defer stop()
	defer controlW.Close() //nolint:errcheck // may be closed already

	c := p.shimCommand(kindExec, f)
	c.WaitDelay = time.Second
	settled, err := connect(ctx, c, l.UID, streams)
	if err != nil {
		return -1, err
	}
	defer settled()
	s, err := startShim(c, controlR)
	if err != nil {
		return -1, err
	}
	r, err := s.ask(ctx, l)
	// A shim that has ended has closed its output. Wait does not wait for the end of the input.
	if werr := c.Wait(); err == nil && werr != nil && !errors.Is(werr, exec.ErrWaitDelay) && ctx.Err() != nil {
		err = ctx.Err()
	}
	if err = cmp.Or(err, r.cut()); err != nil {
		return -1, err
	}
	return r.Code, nil
}

// cut returns the reason why the shim killed the command, nil if the command ended by itself.
func (r reply) cut() error {
	switch {
	case r.Full != "":
		return task.Errorf(task.CodeExhausted, "the command in the sandbox was stopped: %s", r.Full)
	case r.TimedOut:
		return task.Errorf(task.CodeUnavailable, "the command in the sandbox exceeded its time limit and was stopped")
	}
	return nil
}

// prepareExec checks under the lock that the sandbox exists, and prepares the command.
func (p *Provider) prepareExec(
	ctx context.Context, labels sandbox.Labels, cmd sandbox.Command,
) (f folder, l launch, err error) {
	fence, err := p.fence(ctx, labels)
	if err != nil {
		return f, l, err
	}
	defer fence.Release()
	f, m, err := p.find(labels)
	if err != nil {
		return f, l, err
	}
	l, err = p.prepare(f, m, cmd, kindExec)
	l.Timeout = cmp.Or(max(cmd.Timeout, 0), defaultExecTimeout)
	return f, l, err
}

// connect sets the streams of a command, with a terminal owned by uid if requested. The caller calls settled when the
// command has ended, or was not started.
func connect(ctx context.Context, c *exec.Cmd, uid int, streams sandbox.Streams) (settled func(), err error) {
	if streams.Terminal == nil {
		c.Stdin, c.Stdout, c.Stderr = streams.Stdin, streams.Stdout, streams.Stderr
		return func() {}, nil
	}
	ours, theirs, err := openTerminal(streams.Terminal.Size, uid)
	if err != nil {
		return nil, unavailable("open a terminal", err)
	}
	c.Stdin, c.Stdout, c.Stderr = theirs, theirs, theirs
	ctx, stop := context.WithCancel(ctx)
	var shown sync.WaitGroup
	// Ends when the last process closes theirs.
	shown.Go(func() { _, _ = io.Copy(streams.Stdout, ours) })
	// Ends with the user's input, or when ours is closed.
	go func() { _, _ = io.Copy(ours, streams.Stdin) }()
	// A failure is ignored: the terminal works with any size.
	go streams.Terminal.Follow(ctx, func(size sandbox.Size) { _ = pty.Setsize(ours, windowOf(size)) })
	return func() {
		stop()
		_ = theirs.Close()
		shown.Wait()
		_ = ours.Close()
	}, nil
}

// openTerminal opens a terminal that belongs to uid; -1: the current user.
func openTerminal(size sandbox.Size, uid int) (ours, theirs *os.File, err error) {
	if ours, theirs, err = pty.Open(); err != nil {
		return nil, nil, err
	}
	err = pty.Setsize(ours, windowOf(size))
	if err == nil && uid >= 0 {
		err = theirs.Chown(uid, uid)
	}
	if err != nil {
		return nil, nil, errors.Join(err, theirs.Close(), ours.Close())
	}
	return ours, theirs, nil
}

func windowOf(size sandbox.Size) *pty.Winsize {
	return &pty.Winsize{Rows: size.Rows, Cols: size.Columns}
}
