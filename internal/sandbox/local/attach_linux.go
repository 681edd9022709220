package local

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/pty"
)

var _ sandbox.Attacher = (*Provider)(nil)

// Attach is [Provider.Exec] with the streams of a person. With a terminal the command gets one
// of its own, so that nothing inside has a hold on the person's.
func (p *Provider) Attach(ctx context.Context, labels sandbox.Labels, cmd sandbox.Command, streams sandbox.Streams) (int, error) {
	l, f, err := p.prepareExec(ctx, labels, cmd)
	if err != nil {
		return -1, err
	}
	controlR, controlW, err := os.Pipe()
	if err != nil {
		return -1, unavailable("make a pipe", err)
	}
	defer controlR.Close() //nolint:errcheck // the shim has its own
	stop := context.AfterFunc(ctx, func() { _ = controlW.Close() })
	defer stop()
	defer controlW.Close() //nolint:errcheck // closed twice at worst

	c := p.shimCommand(kindExec, f)
	c.WaitDelay = time.Second
	settled := func() {}
	if streams.Terminal != nil {
		if settled, err = p.attachTerminal(c, labels, streams); err != nil {
			return -1, err
		}
	} else {
		c.Stdin, c.Stdout, c.Stderr = streams.Stdin, streams.Stdout, streams.Stderr
	}
	s, err := p.startShim(c, controlR)
	if err != nil {
		settled()
		return -1, err
	}
	answer, err := s.converse(ctx, l)
	if werr := c.Wait(); err == nil && werr != nil && !errors.Is(werr, exec.ErrWaitDelay) && ctx.Err() != nil {
		err = ctx.Err()
	}
	settled()
	res, err := execResult(answer, &sandbox.Output{}, &sandbox.Output{}, err)
	return res.ExitCode, err
}

// attachTerminal gives the command a terminal and carries between it and the streams. settled
// is called once the command has ended, or was never started.
func (p *Provider) attachTerminal(c *exec.Cmd, labels sandbox.Labels, streams sandbox.Streams) (settled func(), err error) {
	_, m, err := p.find(labels)
	if err != nil {
		return nil, err
	}
	ours, theirs, err := openTerminal(streams.Terminal.Size, m.UID)
	if err != nil {
		return nil, unavailable("open a terminal", err)
	}
	c.Stdin, c.Stdout, c.Stderr = theirs, theirs, theirs
	done := make(chan struct{})
	var shown sync.WaitGroup
	shown.Go(func() { _, _ = io.Copy(streams.Stdout, ours) }) // it ends with the last user of theirs
	go func() { _, _ = io.Copy(ours, streams.Stdin) }()       // it ends with the person's input or with ours
	go resize(ours, streams.Terminal.Resized, done)
	return func() {
		close(done)
		_ = theirs.Close()
		shown.Wait()
		_ = ours.Close()
	}, nil
}

func resize(ours *os.File, resized <-chan sandbox.Size, done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case size, ok := <-resized:
			if !ok {
				return
			}
			_ = pty.Resize(ours, size) // a terminal of another size is still one
		}
	}
}

// openTerminal makes a terminal that belongs to uid.
func openTerminal(size sandbox.Size, uid int) (ours, theirs *os.File, err error) {
	if ours, theirs, err = pty.Open(size); err != nil || uid < 0 {
		return ours, theirs, err
	}
	if err = theirs.Chown(uid, uid); err != nil {
		return nil, nil, errors.Join(err, theirs.Close(), ours.Close())
	}
	return ours, theirs, nil
}
