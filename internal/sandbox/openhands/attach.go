package openhands

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/place"
	"github.com/omoi-dev/omoi/internal/shellcmd"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// beginPatience is the time beside its own that a command gets.
const beginPatience = 2 * time.Minute

// leavePatience is the time for a command to be ended after its caller has gone.
const leavePatience = time.Minute

// Attach starts the command detached from the call, reads its output and feeds its input by further calls, and ends it.
func (p *Provider) Attach(ctx context.Context, labels sandbox.Labels, cmd sandbox.Command, streams sandbox.Streams) (int, error) {
	if err := cmd.Check(); err != nil {
		return -1, err
	}
	if _, err := p.call(ctx, place.Request{Method: place.Log, Labels: labels}); err != nil { // a refusal is clear before anything starts
		return -1, err
	}
	e := &execution{p: p, run: p.newFile(), streams: streams}
	defer e.leave(ctx)
	if err := e.begin(ctx, labels, cmd); err != nil {
		return -1, err
	}
	within, cancel := context.WithTimeout(ctx, cmp.Or(max(cmd.Timeout, 0), time.Minute)+beginPatience)
	defer cancel()
	go e.feed(within)
	code, err := e.follow(within)
	switch {
	case ctx.Err() != nil:
		err = fmt.Errorf("run a command in the sandbox: %w", ctx.Err())
	case within.Err() != nil:
		err = task.Errorf(task.CodeUnavailable, "The command in the sandbox did not end in time.")
	}
	return code, err
}

// execution is a running command.
type execution struct {
	p       *Provider
	run     string // its folder
	streams sandbox.Streams

	mu   sync.Mutex
	told place.Request // newest news of the input
}

// begin starts the command.
func (e *execution) begin(ctx context.Context, labels sandbox.Labels, cmd sandbox.Command) error {
	ask := place.Request{
		Method: place.Attach, Root: e.p.root(), Wrapped: e.p.cfg.Wrapped, Limits: e.p.cfg.Limits, Labels: labels, Command: commandOf(cmd), Run: e.run,
	}
	if t := e.streams.Terminal; t != nil {
		ask.Command.Terminal, ask.Size = true, t.Size
	}
	e.told = place.Request{Method: place.Feed, Run: e.run, Size: ask.Size}
	text, err := place.Encode(ask)
	if err != nil {
		return err
	}
	at, err := e.p.installed(ctx)
	if err != nil {
		return err
	}
	file := path.Join(e.run, "request")
	if err := e.p.upload(ctx, file, strings.NewReader(text)); err != nil {
		return err
	}
	_, err = e.p.run(ctx, e.p.begins(at)+"setsid "+shellcmd.Line(at.program, "place", file)+" </dev/null >/dev/null 2>&1 &", callTimeout)
	return err
}

// follow copies the output of the command until it has ended.
func (e *execution) follow(ctx context.Context) (int, error) {
	for out, errs, silent := int64(0), int64(0), 0; ; {
		got, err := e.more(ctx, out, errs)
		switch {
		case ctx.Err() != nil:
			return -1, ctx.Err()
		case got.Fault == nil && task.CodeOf(err) == task.CodeUnavailable && silent < mostSilent:
			silent++ // the server, not the command
			_ = wait.For(ctx, time.Second)
			continue
		case err != nil:
			return -1, err
		case got.Over:
			return got.Code, nil
		}
		out, errs, silent = out+got.Out, errs+got.Errs, 0
	}
}

// mostSilent is how often in a row the server may give no answer.
const mostSilent = 60

// more copies the output after what is known.
func (e *execution) more(ctx context.Context, out, errs int64) (place.Answer, error) {
	file := path.Join(e.run, "news")
	got, err := e.p.call(ctx, place.Request{Method: place.More, Run: e.run, Out: out, Errs: errs, File: file})
	if err != nil || got.Out+got.Errs == 0 {
		return got, err
	}
	news, err := e.p.download(ctx, file)
	if err != nil {
		return got, err
	}
	defer func() { _ = news.Close() }()
	text, err := io.ReadAll(news)
	if err != nil || int64(len(text)) != got.Out+got.Errs {
		return got, task.Errorf(task.CodeUnavailable, "The OpenHands server gave a part of the output only.").WithCause(err)
	}
	if _, err := e.streams.Stdout.Write(text[:got.Out]); err != nil || got.Errs == 0 {
		return got, err
	}
	_, err = e.streams.Stderr.Write(text[got.Out:])
	return got, err
}

// feed uploads the input in pieces, and tells of each, and of the size of the terminal. What it cannot tell, the command does not read.
func (e *execution) feed(ctx context.Context) {
	if t := e.streams.Terminal; t != nil {
		go t.Follow(ctx, func(size sandbox.Size) { e.tell(ctx, func(ask *place.Request) { ask.Size = size }) })
	}
	in := e.streams.Stdin
	if in == nil {
		in = strings.NewReader("")
	}
	piece := make([]byte, 32<<10)
	for at := 0; ; {
		n, err := in.Read(piece)
		if n > 0 {
			if e.p.upload(ctx, path.Join(e.run, strconv.Itoa(at)), bytes.NewReader(piece[:n])) != nil {
				return
			}
			at++
		}
		over := err != nil
		if n > 0 || over {
			e.tell(ctx, func(ask *place.Request) { ask.Fed, ask.Shut = at, over })
		}
		if over {
			return
		}
	}
}

// tell tells the command's process what is new of its input.
func (e *execution) tell(ctx context.Context, change func(*place.Request)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change(&e.told)
	for range mostSilent {
		if _, err := e.p.call(ctx, e.told); err == nil || ctx.Err() != nil {
			return
		}
		_ = wait.For(ctx, time.Second)
	}
}

// leave ends what is left of the command, and removes its folder. It continues after ctx ends.
func (e *execution) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leavePatience)
	defer cancel()
	_, err := e.p.call(ctx, place.Request{Method: place.Leave, Run: e.run})
	if cmp.Or(err, ctx.Err()) != nil {
		e.p.log.DebugContext(ctx, "end command on the OpenHands server failed: it ends without its caller")
	}
}
