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

// Freeze pauses every running container of an installation, those of commands too. An engine that
// does not run has none.
func (p *Provider) Freeze(ctx context.Context, installation string) (int, error) {
	p.frozen.Store(true)
	count, err := p.each(ctx, installation, "running", p.engine.ContainerPause)
	if client.IsErrConnectionFailed(err) {
		return 0, nil
	}
	if err != nil {
		return count, err
	}
	paused, err := p.inState(ctx, installation, "paused") // by now, or by another process
	return sandboxes(paused), err
}

// Thaw lets them continue.
func (p *Provider) Thaw(ctx context.Context, installation string) (int, error) {
	p.frozen.Store(false)
	return p.each(ctx, installation, "paused", p.engine.ContainerUnpause)
}

// atOnce bounds how many containers are frozen or thawed side by side.
const atOnce = 16

// each acts on the containers in a state, side by side. One that has left it meanwhile is passed over.
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
			if err := act(ctx, c.ID); err != nil && !gone(err) && !p.ends(ctx, c.ID) {
				errs[i] = engineError("freeze or thaw a container", err)
			}
			return nil
		})
	}
	_ = all.Wait() // errs tells
	return sandboxes(found), errors.Join(errs...)
}

// ends reports whether a container ends now. The engine answers an internal error to the pause of such a container:
// its processes have ended, and the engine has not recorded that yet.
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

// sandboxes counts those whose agents are among the containers.
func sandboxes(of []container.Summary) int {
	count := 0
	for _, c := range of {
		if c.Labels[labelRole] == roleSandbox {
			count++
		}
	}
	return count
}
