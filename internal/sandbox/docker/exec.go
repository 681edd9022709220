package docker

import (
	"cmp"
	"context"
	"crypto/rand"
	"io"
	"strings"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/fence"
	"github.com/omoi-dev/omoi/internal/task"
)

// Attach runs a command in a container of its own over the sandbox's volumes, beside the agent or
// after it has ended. It sees the sandbox's files and not the agent's processes, and whatever it
// leaves running ends with it.
func (p *Provider) Attach(ctx context.Context, labels sandbox.Labels, cmd sandbox.Command, streams sandbox.Streams) (int, error) {
	if err := cmd.Check(); err != nil {
		return -1, err
	}
	cmd.Timeout = cmp.Or(max(cmd.Timeout, 0), time.Minute)
	run := &running{p: p, read: make(chan error, 1), streams: streams}
	if err := run.begin(ctx, labels, cmd); err != nil {
		return -1, err
	}
	defer run.close(ctx)
	within, cancel := context.WithTimeout(ctx, cmd.Timeout)
	defer cancel()
	if streams.Terminal != nil {
		go streams.Terminal.Follow(within, func(size sandbox.Size) { run.size(within, size) })
	}
	return run.follow(ctx, within)
}

// running is the container of one command.
type running struct {
	p       *Provider
	id      string
	conn    types.HijackedResponse
	streams sandbox.Streams

	ended <-chan ending
	read  chan error // the end of both streams
}

// begin starts it, unless the sandbox is gone.
func (r *running) begin(ctx context.Context, labels sandbox.Labels, cmd sandbox.Command) error {
	cmd.Stdin = r.streams.Stdin
	err := r.p.locked(ctx, labels, func(ctx context.Context, f *fence.Fence) error {
		found, err := r.p.ready(ctx, f, labels)
		if err != nil {
			return err
		}
		file := sandbox.Dir + "/.omoi-exec-" + strings.ToLower(rand.Text())
		if r.id, err = r.beside(ctx, f, found, file); err != nil {
			return err
		}
		return r.p.launch(ctx, r, cmd, file)
	})
	if err != nil && r.id != "" {
		r.close(ctx)
	}
	return err
}

// beside makes a container like the sandbox's own.
func (r *running) beside(ctx context.Context, f *fence.Fence, main container.InspectResponse, script string) (string, error) {
	cfg := r.p.config(main.Image, written(labelsOf(main.Config.Labels), roleExec), script)
	cfg.OpenStdin, cfg.Tty = r.streams.Stdin != nil, r.streams.Terminal != nil
	cfg.StdinOnce = cfg.OpenStdin
	host := *main.HostConfig
	host.Mounts = nil
	if t := r.streams.Terminal; t != nil {
		host.ConsoleSize = [2]uint{uint(t.Size.Rows), uint(t.Size.Columns)}
	}
	return r.p.over(ctx, f, main, cfg, &host)
}

// launch starts it with its streams attached, so that nothing of them is missed.
func (p *Provider) launch(ctx context.Context, run *running, cmd sandbox.Command, file string) error {
	err := p.putScript(ctx, run.id, file, script(cmd, file, cmd.Timeout+time.Minute))
	if err != nil {
		return err
	}
	streams := container.AttachOptions{Stream: true, Stdout: true, Stderr: true, Stdin: cmd.Stdin != nil}
	if run.conn, err = p.engine.ContainerAttach(ctx, run.id, streams); err != nil {
		return engineError("listen to a command", err)
	}
	// The wait outlives this call; the removal of the container ends it.
	run.ended = p.ending(context.WithoutCancel(ctx), run.id, container.WaitConditionNextExit)
	if err := startError(p.engine.ContainerStart(ctx, run.id, container.StartOptions{})); err != nil {
		return err
	}
	if run.streams.Terminal != nil { // before anything is typed; some engines pass over the size that they were told
		run.size(ctx, run.streams.Terminal.Size)
	}
	go func() { run.read <- run.show() }()
	if cmd.Stdin != nil {
		go func() {
			_, _ = io.Copy(run.conn.Conn, cmd.Stdin)
			_ = run.conn.CloseWrite()
		}()
	}
	return nil
}

// show hands on what the command says: both streams in one connection, or one where it has a terminal.
func (r *running) show() error {
	if r.streams.Terminal != nil {
		_, err := io.Copy(r.streams.Stdout, r.conn.Reader)
		return err
	}
	_, err := stdcopy.StdCopy(r.streams.Stdout, r.streams.Stderr, r.conn.Reader)
	return err
}

// follow waits for the end.
func (r *running) follow(ctx, within context.Context) (code int, err error) {
	select {
	case err := <-r.read:
		if err != nil && within.Err() == nil {
			return -1, engineError("listen to a command", err)
		}
	case <-within.Done():
		return -1, cut(ctx)
	}
	select {
	case end := <-r.ended:
		if end.err != nil {
			return -1, engineError("wait for a command", end.err)
		}
		return end.code, nil
	case <-within.Done():
		return -1, cut(ctx)
	}
}

// cut is the error when the time is over.
func cut(ctx context.Context) error {
	return cmp.Or(ctx.Err(), error(task.Errorf(task.CodeUnavailable, "the command exceeded its time limit")))
}

// close ends the command and removes its container.
func (r *running) close(ctx context.Context) {
	r.p.discard(ctx, r.id)
	if r.conn.Conn != nil {
		r.conn.Close()
	}
}

// size gives the terminal its size; one of another size is still one.
func (r *running) size(ctx context.Context, size sandbox.Size) {
	_ = r.p.engine.ContainerResize(ctx, r.id, container.ResizeOptions{Height: uint(size.Rows), Width: uint(size.Columns)})
}
