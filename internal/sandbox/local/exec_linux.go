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

// Attach runs a command over the same folders, beside the agent or after its end. Its whole
// tree is dead when Attach returns. With a terminal the command gets one of its own, so that
// nothing inside has a hold on the person's. It answers [task.CodeUnavailable] when the time is
// over, [task.CodeExhausted] if it filled the disk, and with ctx's error if that ends first.
func (p *Provider) Attach(ctx context.Context, labels sandbox.Labels, cmd sandbox.Command, streams sandbox.Streams) (int, error) {
	f, l, err := p.prepareExec(ctx, labels, cmd)
	if err != nil {
		return -1, err
	}
	controlR, controlW, err := os.Pipe()
	if err != nil {
		return -1, unavailable("make a pipe", err)
	}
	defer controlR.Close() //nolint:errcheck // the shim has its own
	// Closing our end, also by dying, makes the shim kill what it runs.
	stop := context.AfterFunc(ctx, func() { _ = controlW.Close() })
	defer stop()
	defer controlW.Close() //nolint:errcheck // closed twice at worst

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
	// A shim that is done has closed its output; an endless input is not waited for.
	if werr := c.Wait(); err == nil && werr != nil && !errors.Is(werr, exec.ErrWaitDelay) && ctx.Err() != nil {
		err = ctx.Err()
	}
	if err = cmp.Or(err, r.cut()); err != nil {
		return -1, err
	}
	return r.Code, nil
}

// cut says why a command was ended; nil: it ended by itself.
func (r reply) cut() error {
	switch {
	case r.Full != "":
		return task.Errorf(task.CodeExhausted, "the command in the sandbox was stopped: %s", r.Full)
	case r.TimedOut:
		return task.Errorf(task.CodeUnavailable, "the command in the sandbox exceeded its time limit and was stopped")
	}
	return nil
}

// prepareExec settles under the lock that there is something to run in.
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

// connect gives a command its streams, by way of a terminal of uid where there is to be one. settled is called once
// the command has ended, or was never started.
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
	shown.Go(func() { _, _ = io.Copy(streams.Stdout, ours) })                                          // it ends with the last user of theirs
	go func() { _, _ = io.Copy(ours, streams.Stdin) }()                                                // it ends with the person's input or with ours
	go streams.Terminal.Follow(ctx, func(size sandbox.Size) { _ = pty.Setsize(ours, windowOf(size)) }) // one of another size is still one
	return func() {
		stop()
		_ = theirs.Close()
		shown.Wait()
		_ = ours.Close()
	}, nil
}

// openTerminal makes a terminal that belongs to uid.
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
