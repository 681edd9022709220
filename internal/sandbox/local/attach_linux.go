package local

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"

	"github.com/creack/pty"

	"github.com/omoi-dev/omoi/internal/sandbox"
)

// connect gives a command its streams. settled is called once the command has ended, or was never started.
func connect(ctx context.Context, c *exec.Cmd, m meta, streams sandbox.Streams) (settled func(), err error) {
	if streams.Terminal != nil {
		return attachTerminal(ctx, c, m, streams)
	}
	c.Stdin, c.Stdout, c.Stderr = streams.Stdin, streams.Stdout, streams.Stderr
	return func() {}, nil
}

// attachTerminal gives the command a terminal and carries between it and the streams.
func attachTerminal(ctx context.Context, c *exec.Cmd, m meta, streams sandbox.Streams) (settled func(), err error) {
	ours, theirs, err := openTerminal(streams.Terminal.Size, m.UID)
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
