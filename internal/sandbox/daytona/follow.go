package daytona

import (
	"context"
	"errors"
	"io"
	"net/url"
	"slices"
	"time"

	"github.com/coder/websocket"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

var _ sandbox.Follower = (*Provider)(nil)

// Follow opens the output of the started command from offset, in bytes, and goes on with what
// comes until the command has ended. It reads Daytona's stream, which always begins at the start:
// after a break it connects again and skips what was taken. Where there is no stream it asks
// again and again. The caller closes it; ctx ends it too.
//
// While it is open the sandbox counts as in use.
func (p *Provider) Follow(ctx context.Context, labels sandbox.Labels, offset int64) (io.ReadCloser, error) {
	if offset < 0 {
		return nil, task.Invalid("offset", "a log begins at offset 0, not %d", offset)
	}
	tb, err := p.inside(ctx, labels)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	r, w := io.Pipe()
	f := &follower{p: p, tb: tb, out: w, at: offset}
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.CloseWithError(f.follow(ctx)) // always nil
	}()
	return &following{PipeReader: r, stop: func() { cancel(); <-done }}, nil
}

// following is an open tail.
type following struct {
	*io.PipeReader

	stop func()
}

// Close ends the tail and waits until nothing of it is left.
func (f *following) Close() error {
	_ = f.PipeReader.Close() // frees a writer that nobody reads any more
	f.stop()
	return nil
}

type follower struct {
	p   *Provider
	tb  *toolbox
	out *io.PipeWriter
	at  int64 // bytes that were handed on, with those that the caller has already
}

// follow streams until the command has ended. Whether it has is told by its state, never by the
// way in which a stream ends.
func (f *follower) follow(ctx context.Context) error {
	for delay := f.p.cfg.PollMin; ; delay = min(2*delay, f.p.cfg.PollMax) {
		seen, lookErr := f.tb.agent(ctx)
		before := f.at
		if lookErr == nil && seen.Agent == sandbox.StateAlive {
			if err := f.stream(ctx); fatal(ctx, err) {
				return err
			}
			continue
		}
		err := f.rest(ctx) // also of a command whose session is lost
		switch {
		case fatal(ctx, err):
			return err
		case err == nil && lookErr == nil && seen.Started:
			return nil
		case lookErr != nil && !passing(lookErr):
			return lookErr
		}
		if f.at > before {
			delay = f.p.cfg.PollMin
		}
		if err := wait.For(ctx, delay); err != nil {
			return err
		}
	}
}

// fatal reports whether nobody reads any more, or the sandbox is no more.
func fatal(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, io.ErrClosedPipe) || task.CodeOf(err) == task.CodeNotFound || task.CodeOf(err) == task.CodeConflict
}

// rest hands on what the log holds beyond what was taken.
func (f *follower) rest(ctx context.Context) error {
	r, err := f.tb.log(ctx, f.at)
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // only read
	n, err := io.Copy(f.out, r)
	f.at += n
	return err
}

// stream hands on what the session's stream says until that ends.
func (f *follower) stream(ctx context.Context) error {
	ran, err := f.tb.commands(ctx, sessionAgent)
	if err != nil || len(ran) == 0 {
		return f.wait(ctx)
	}
	conn, err := f.dial(ctx, ran[0].Id)
	if err != nil {
		if err := f.rest(ctx); fatal(ctx, err) {
			return err
		}
		return wait.For(ctx, f.p.cfg.PollMax) // each read begins at the start of the log
	}
	defer conn.CloseNow() //nolint:errcheck // it is over
	skip, split := f.at, &splitter{}
	for {
		_, frame, err := conn.Read(ctx)
		if err != nil {
			return f.wait(ctx)
		}
		text := split.stdout(frame)
		seen := min(int64(len(text)), skip)
		skip -= seen
		if _, err := f.out.Write(text[seen:]); err != nil {
			return err
		}
		f.at += int64(len(text)) - seen
	}
}

// wait lets a moment pass before the next try, whatever the last one came to.
func (f *follower) wait(ctx context.Context) error { return wait.For(ctx, f.p.cfg.PollMin) }

const dialTimeout = 15 * time.Second

func (f *follower) dial(ctx context.Context, command string) (*websocket.Conn, error) {
	return f.tb.dial(ctx, "/process/session/"+sessionAgent+"/command/"+url.PathEscape(command)+"/logs?follow=true")
}

// splitter takes a log stream apart. Each stretch begins with a mark of three bytes that says
// whose it is, and a mark may be cut by the end of a frame.
type splitter struct {
	held   []byte // the beginning of what may be a mark
	stderr bool
}

const (
	markLen    = 3
	markStdout = 1
	markStderr = 2
)

// stdout answers what of the next frame is standard output; our command has no other.
func (s *splitter) stdout(frame []byte) []byte {
	data := slices.Concat(s.held, frame)
	s.held = nil
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); i++ {
		n := run(data[i:])
		switch {
		case n == markLen:
			s.stderr = data[i] == markStderr
			i += markLen - 1
			continue
		case n > 0 && i+n == len(data):
			s.held = append([]byte(nil), data[i:]...)
			return out
		}
		if !s.stderr {
			out = append(out, data[i])
		}
	}
	return out
}

// run is how many bytes of a mark data begins with.
func run(data []byte) int {
	if data[0] != markStdout && data[0] != markStderr {
		return 0
	}
	n := 1
	for n < markLen && n < len(data) && data[n] == data[0] {
		n++
	}
	return n
}
