package local

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"time"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

const defaultExecTimeout = time.Minute

// Attach runs a command over the same folders, beside the agent or after its end. Its whole
// tree is dead when Attach returns. With a terminal the command gets one of its own, so that
// nothing inside has a hold on the person's. It answers [task.CodeUnavailable] when the time is
// over, [task.CodeExhausted] if it filled the disk, and with ctx's error if that ends first.
func (p *Provider) Attach(ctx context.Context, labels sandbox.Labels, cmd sandbox.Command, streams sandbox.Streams) (int, error) {
	f, m, l, err := p.prepareExec(ctx, labels, cmd)
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
	settled, err := connect(ctx, c, m, streams)
	if err != nil {
		return -1, err
	}
	defer settled()
	s, err := p.startShim(c, controlR)
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
		return task.Errorf(task.CodeExhausted, "the command in the sandbox was ended: %s", r.Full)
	case r.TimedOut:
		return task.Errorf(task.CodeUnavailable, "the command in the sandbox took too long and was ended")
	}
	return nil
}

// prepareExec settles under the lock that there is something to run in.
func (p *Provider) prepareExec(ctx context.Context, labels sandbox.Labels, cmd sandbox.Command) (f folder, m meta, l launch, err error) {
	fence, err := p.fence(ctx, labels)
	if err != nil {
		return f, m, l, err
	}
	defer fence.Release()
	if f, m, err = p.find(labels); err != nil {
		return f, m, l, err
	}
	l, err = p.prepare(f, m, cmd, kindExec)
	l.Timeout = cmp.Or(max(cmd.Timeout, 0), defaultExecTimeout)
	return f, m, l, err
}
