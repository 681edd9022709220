package docker

import (
	"cmp"
	"context"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/omoi-dev/omoi/internal/sandbox"
)

var _ sandbox.Attacher = (*Provider)(nil)

// Attach is [Provider.Exec] with the streams of a person. It sees the sandbox's files and not the agent's
// processes, and all of it ends with the command.
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
		go run.resize(within, streams.Terminal)
	}
	res, err := run.follow(ctx, within)
	return res.ExitCode, err
}

// resize keeps the terminal as large as the person's.
func (r *running) resize(ctx context.Context, t *sandbox.Terminal) {
	for {
		select {
		case size, more := <-t.Resized:
			if !more {
				return
			}
			r.size(ctx, size)
		case <-ctx.Done():
			return
		}
	}
}

// size gives the terminal its size; one of another size is still one.
func (r *running) size(ctx context.Context, size sandbox.Size) {
	_ = r.p.engine.ContainerResize(ctx, r.id, container.ResizeOptions{Height: uint(size.Rows), Width: uint(size.Columns)})
}
