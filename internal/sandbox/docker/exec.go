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

// Attach runs a command in a container of its own with the sandbox's volumes, while the agent runs or after its end.
// The command sees the files of the sandbox, and not the processes of the agent. Processes that it leaves behind are
// killed at its end.
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
	read  chan error // result of show
}

// begin starts the command. A deleted sandbox is an error.
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

// beside creates a container with the settings of the sandbox's container.
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

// launch attaches the streams before the start, so that no output is lost.
func (p *Provider) launch(ctx context.Context, run *running, cmd sandbox.Command, file string) error {
	err := p.putScript(ctx, run.id, file, script(cmd, file, cmd.Timeout+time.Minute))
	if err != nil {
		return err
	}
	streams := container.AttachOptions{Stream: true, Stdout: true, Stderr: true, Stdin: cmd.Stdin != nil}
	if run.conn, err = p.engine.ContainerAttach(ctx, run.id, streams); err != nil {
		return engineError("read the output of a command", err)
	}
	// The wait continues after this call; the removal of the container ends it.
	run.ended = p.ending(context.WithoutCancel(ctx), run.id, container.WaitConditionNextExit)
	if err := startError(p.engine.ContainerStart(ctx, run.id, container.StartOptions{})); err != nil {
		return err
	}
	if run.streams.Terminal != nil { // before the first input; some engines ignore ConsoleSize
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

// show copies the output: two multiplexed streams, or a single one with a terminal.
func (r *running) show() error {
	if r.streams.Terminal != nil {
		_, err := io.Copy(r.streams.Stdout, r.conn.Reader)
		return err
	}
	_, err := stdcopy.StdCopy(r.streams.Stdout, r.streams.Stderr, r.conn.Reader)
	return err
}

// follow waits for the end of the output and of the command.
func (r *running) follow(ctx, within context.Context) (code int, err error) {
	select {
	case err := <-r.read:
		if err != nil && within.Err() == nil {
			return -1, engineError("read the output of a command", err)
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

// cut returns the error for a command whose time is over: the error of ctx, or the timeout.
func cut(ctx context.Context) error {
	return cmp.Or(ctx.Err(), error(task.Errorf(task.CodeUnavailable, "the command exceeded its time limit")))
}

// close kills the command and removes its container.
func (r *running) close(ctx context.Context) {
	r.p.discard(ctx, r.id)
	if r.conn.Conn != nil {
		r.conn.Close()
	}
}

// size sets the size of the terminal. A failure is ignored, because the terminal works with any size.
func (r *running) size(ctx context.Context, size sandbox.Size) {
	_ = r.p.engine.ContainerResize(ctx, r.id, container.ResizeOptions{Height: uint(size.Rows), Width: uint(size.Columns)})
}
