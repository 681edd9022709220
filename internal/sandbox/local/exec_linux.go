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

// Exec runs a command over the same folders, beside the agent or after its end. Its whole
// tree is dead when Exec returns. It answers [task.CodeUnavailable] when the time is over,
// [task.CodeExhausted] if it filled the disk, and with ctx's error if that ends first.
func (p *Provider) Exec(ctx context.Context, labels sandbox.Labels, cmd sandbox.Command) (sandbox.ExecResult, error) {
	none := sandbox.ExecResult{ExitCode: -1}
	l, f, err := p.prepareExec(ctx, labels, cmd)
	if err != nil {
		return none, err
	}
	controlR, controlW, err := os.Pipe()
	if err != nil {
		return none, unavailable("make a pipe", err)
	}
	defer controlR.Close() //nolint:errcheck // the shim has its own
	// Closing our end, also by dying, makes the shim kill what it runs.
	stop := context.AfterFunc(ctx, func() { _ = controlW.Close() })
	defer stop()
	defer controlW.Close() //nolint:errcheck // closed twice at worst

	stdout, stderr := &sandbox.Output{}, &sandbox.Output{}
	c := p.shimCommand(kindExec, f)
	c.Stdin, c.Stdout, c.Stderr = cmd.Stdin, stdout, stderr
	c.WaitDelay = time.Second
	s, err := p.startShim(c, controlR)
	if err != nil {
		return none, err
	}
	answer, err := s.converse(ctx, l)
	// A shim that is done has closed its output; an endless input is not waited for.
	if werr := c.Wait(); err == nil && werr != nil && !errors.Is(werr, exec.ErrWaitDelay) && ctx.Err() != nil {
		err = ctx.Err()
	}
	return execResult(answer, stdout, stderr, err)
}

func execResult(r reply, stdout, stderr *sandbox.Output, err error) (sandbox.ExecResult, error) {
	res := sandbox.ExecResult{ExitCode: r.Code, Stdout: stdout.Bytes(), Stderr: stderr.Bytes()}
	if err != nil {
		res.ExitCode = -1
		return res, err
	}
	if r.Full != "" {
		return res, task.Errorf(task.CodeExhausted, "the command in the sandbox was ended: %s", r.Full)
	}
	if r.TimedOut {
		return res, task.Errorf(task.CodeUnavailable, "the command in the sandbox took too long and was ended")
	}
	return res, nil
}

// prepareExec settles under the lock that there is something to run in.
func (p *Provider) prepareExec(ctx context.Context, labels sandbox.Labels, cmd sandbox.Command) (launch, folder, error) {
	if err := labels.Check(); err != nil {
		return launch{}, "", err
	}
	fence, err := p.fence(ctx, labels)
	if err != nil {
		return launch{}, "", err
	}
	defer fence.Release()
	f, m, err := p.find(labels)
	if err != nil {
		return launch{}, f, err
	}
	l, err := p.prepare(f, m, cmd, kindExec)
	l.Timeout = cmd.Timeout
	l.Timeout = cmp.Or(max(l.Timeout, 0), defaultExecTimeout)
	return l, f, err
}

func (s *shim) converse(ctx context.Context, l launch) (reply, error) {
	if err := s.tell(l); err != nil {
		_ = s.reply.Close()
		return reply{}, err
	}
	return s.hear(ctx)
}
