package docker

import (
	"context"
	"errors"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"
	"golang.org/x/sync/errgroup"

	"github.com/omoi-dev/omoi/internal/sandbox"
)

var _ sandbox.Freezer = (*Provider)(nil)

// Freeze pauses all running containers of an installation, including those of Attach, and returns the number of paused
// sandboxes. An engine that does not run counts as zero.
func (p *Provider) Freeze(ctx context.Context, installation string) (int, error) {
	p.frozen.Store(true)
	count, err := p.each(ctx, installation, "running", p.engine.ContainerPause)
	if client.IsErrConnectionFailed(err) {
		return 0, nil
	}
	if err != nil {
		return count, err
	}
	paused, err := p.inState(ctx, installation, "paused") // includes containers that another process paused
	return sandboxes(paused), err
}

// Thaw unpauses the containers.
func (p *Provider) Thaw(ctx context.Context, installation string) (int, error) {
	p.frozen.Store(false)
	return p.each(ctx, installation, "paused", p.engine.ContainerUnpause)
}

// atOnce is the number of containers that are paused or unpaused at the same time.
const atOnce = 16

// each calls act for the containers in a state, at most [atOnce] at the same time. A container that left the state is
// skipped.
func (p *Provider) each(ctx context.Context, installation, state string, act func(context.Context, string) error) (int, error) {
	found, err := p.inState(ctx, installation, state)
	if err != nil {
		return 0, err
	}
	errs := make([]error, len(found))
	var all errgroup.Group
	all.SetLimit(atOnce)
	for i, c := range found {
		all.Go(func() error {
			errs[i] = p.untilDone(ctx, c.ID, act)
			return nil
		})
	}
	_ = all.Wait() // errs has the errors
	return sandboxes(found), errors.Join(errs...)
}

// untilDone calls act for a container, up to three times: on a busy machine, the kernel may not freeze all processes in the time that
// the engine gives it.
func (p *Provider) untilDone(ctx context.Context, id string, act func(context.Context, string) error) error {
	const most = 3
	for try := 1; ; try++ {
		err := act(ctx, id)
		if err == nil || gone(err) || p.ends(ctx, id) {
			return nil
		}
		if try == most || ctx.Err() != nil {
			return engineError("pause or unpause a container", err)
		}
	}
}

// ends reports whether a container ends within a second. The engine answers the pause of an ending container with an
// internal error: the processes have ended, and the engine has not recorded that yet.
func (p *Provider) ends(ctx context.Context, id string) bool {
	within, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	end := <-p.ending(within, id, container.WaitConditionNotRunning)
	return end.err == nil || cerrdefs.IsNotFound(end.err)
}

func (p *Provider) inState(ctx context.Context, installation, state string) ([]container.Summary, error) {
	which := ofInstallation(installation)
	which.Add("status", state)
	return p.containers(ctx, container.ListOptions{Filters: which})
}

// sandboxes returns the number of containers that run an agent.
func sandboxes(of []container.Summary) int {
	count := 0
	for _, c := range of {
		if c.Labels[labelRole] == roleSandbox {
			count++
		}
	}
	return count
}
