package docker

import (
	"context"
	"io"
	"log/slog"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/pkg/jsonmessage"

	"github.com/omoi-dev/omoi/internal/task"
)

// image returns the image of sandboxes, and pulls it if the engine does not have it.
func (p *Provider) image(ctx context.Context) (image.InspectResponse, error) {
	found, err := p.engine.ImageInspect(ctx, p.cfg.Image)
	if cerrdefs.IsNotFound(err) {
		if err := p.pull(ctx); err != nil {
			return found, err
		}
		found, err = p.engine.ImageInspect(ctx, p.cfg.Image)
	}
	switch {
	case cerrdefs.IsInvalidArgument(err):
		return found, task.Invalid("docker.image", "invalid image name %q", p.cfg.Image).WithCause(err)
	case err != nil:
		return found, engineError("inspect image "+p.cfg.Image, err)
	case found.Os != "linux":
		return found, task.Invalid("docker.image", "the image %s is for %s, and sandboxes need a Linux image. Next: set docker.image to another image", p.cfg.Image, found.Os)
	}
	return found, nil
}

// pull pulls the image. A failure is [task.CodeInvalid], because a retry with the same image is useless.
func (p *Provider) pull(ctx context.Context) error {
	missing := func(why string, err error) error {
		return task.Invalid("docker.image", "the docker engine does not have the image %s: %s. Next: run `docker pull %[1]s` on this machine, or set docker.image to another image",
			p.cfg.Image, why).WithCause(err)
	}
	if p.cfg.NoPull {
		return missing("docker.pull is never", nil)
	}
	p.log.InfoContext(ctx, "sandbox image pull started", slog.String("image", p.cfg.Image))
	err := p.fetch(ctx)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return engineError("pull image "+p.cfg.Image, err)
	}
	return missing("the pull failed", err)
}

// fetch pulls the image and reads the engine's progress, whose end has the result.
func (p *Provider) fetch(ctx context.Context) error {
	progress, err := p.engine.ImagePull(ctx, p.cfg.Image, image.PullOptions{})
	if err != nil {
		return err
	}
	defer progress.Close() //nolint:errcheck // read only
	return jsonmessage.DisplayJSONMessagesStream(progress, io.Discard, 0, false, nil)
}
