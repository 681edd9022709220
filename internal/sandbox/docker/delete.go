package docker

import (
	"context"
	"fmt"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/volume"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/fence"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// Delete removes all containers and volumes of the sandbox, and checks that none is left. A container with other labels
// is another sandbox and stays. If the engine may still run an interrupted create, Delete returns
// [task.CodeUnavailable] until that time is over.
func (p *Provider) Delete(ctx context.Context, labels sandbox.Labels) error {
	return p.locked(ctx, labels, func(ctx context.Context, f *fence.Fence) error {
		_, err := p.find(ctx, labels)
		switch task.CodeOf(err) {
		case "", task.CodeNotFound:
		case task.CodeConflict:
			return nil
		default:
			return err
		}
		if err := f.Bury(); err != nil {
			return err
		}
		if err := p.remove(ctx, labels); err != nil {
			return err
		}
		if late := settles(f, time.Now()); late > 0 {
			return task.Errorf(task.CodeUnavailable, "sandbox %s is deleted, but an interrupted create may still produce it. Next: check again in %s",
				labels.SandboxID, late.Round(time.Second))
		}
		return nil
	})
}

// remove removes containers and volumes until removeOnce finds none.
func (p *Provider) remove(ctx context.Context, labels sandbox.Labels) error {
	var last error
	for delay := 10 * time.Millisecond; ; delay = min(2*delay, time.Second) {
		left, err := p.removeOnce(ctx, labels)
		if err == nil && left == 0 {
			return nil
		}
		if err != nil {
			last = err
		}
		if wait.For(ctx, delay) != nil || delay == time.Second && err != nil {
			return engineError(fmt.Sprintf("remove sandbox %s", labels.SandboxID), last)
		}
	}
}

// removeOnce returns the number of containers and volumes that it found.
func (p *Provider) removeOnce(ctx context.Context, labels sandbox.Labels) (found int, err error) {
	containers, err := p.engine.ContainerList(ctx, container.ListOptions{All: true, Filters: only(labels)})
	if err != nil {
		return 0, err
	}
	for _, c := range containers {
		err := p.engine.ContainerRemove(ctx, c.ID, container.RemoveOptions{Force: true, RemoveVolumes: true})
		if err != nil && !gone(err) { // a conflict means that a removal is in progress
			return 0, err
		}
	}
	volumes, err := p.engine.VolumeList(ctx, volume.ListOptions{Filters: only(labels)})
	if err != nil {
		return 0, err
	}
	for _, v := range volumes.Volumes {
		err := p.engine.VolumeRemove(ctx, v.Name, true)
		if err != nil && !gone(err) && !cerrdefs.IsInternal(err) {
			return 0, err
		}
	}
	return len(containers) + len(volumes.Volumes), nil
}
