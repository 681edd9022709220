package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/fence"
	"github.com/omoi-dev/omoi/internal/task"
)

// Ensure creates the container, or adopts the one with the same labels. Errors: [sandbox.ErrNameTaken] for a container
// with other labels, [sandbox.ErrFenced] after a delete, [task.CodeInvalid] for limits out of range, a missing network
// or a missing image.
func (p *Provider) Ensure(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	spec, err := spec.Complete(sandbox.NetworkHost, p.cfg.Limits, maxProcesses)
	if err != nil {
		return sandbox.Sandbox{}, err
	}
	var box sandbox.Sandbox
	adopt := func(ctx context.Context, f *fence.Fence) (err error) {
		box, err = p.adopt(ctx, f, spec.Labels)
		return err
	}
	err = p.locked(ctx, spec.Labels, adopt)
	if task.CodeOf(err) != task.CodeNotFound {
		return box, err
	}
	blank, err := p.blank(ctx, spec)
	if err != nil {
		return sandbox.Sandbox{}, err
	}
	err = p.locked(ctx, spec.Labels, func(ctx context.Context, f *fence.Fence) error {
		if err := adopt(ctx, f); task.CodeOf(err) != task.CodeNotFound {
			return err
		}
		box, err = p.create(ctx, f, blank)
		return err
	})
	return box, err
}

// adopt returns the existing sandbox.
func (p *Provider) adopt(ctx context.Context, f *fence.Fence, labels sandbox.Labels) (sandbox.Sandbox, error) {
	if f.IsDeleted() {
		return sandbox.Sandbox{}, sandbox.ErrFenced
	}
	found, err := p.find(ctx, labels)
	if err != nil {
		return sandbox.Sandbox{}, err
	}
	if err := p.finish(ctx, f, found); err != nil {
		return sandbox.Sandbox{}, err
	}
	box := boxOf(found.ID, found.Config.Labels)
	box.CreatedAt, _ = time.Parse(time.RFC3339Nano, found.Created)
	box.Adopted = true
	return box, nil
}

func boxOf(id string, labels map[string]string) sandbox.Sandbox {
	return sandbox.Sandbox{
		Labels: labelsOf(labels), ProviderID: id, Arch: labels[labelArch],
		Isolation: strings.FieldsFunc(labels[labelIsolation], func(r rune) bool { return r == ',' }),
	}
}

// ready returns the container of a sandbox for a start. A sandbox in deletion is [task.CodeNotFound].
func (p *Provider) ready(ctx context.Context, f *fence.Fence, labels sandbox.Labels) (container.InspectResponse, error) {
	found, err := p.find(ctx, labels)
	if err == nil && f.IsDeleted() {
		err = task.Errorf(task.CodeNotFound, "sandbox %s is being removed", labels.SandboxID)
	}
	if err == nil {
		err = p.finish(ctx, f, found)
	}
	return found, err
}

// finish furnishes the volumes if their creator died before it could.
func (p *Provider) finish(ctx context.Context, f *fence.Fence, found container.InspectResponse) error {
	if started(found) {
		return nil
	}
	last, err := p.engine.ContainerStatPath(ctx, found.ID, sandbox.Dir)
	if err != nil {
		return engineError("read a folder of a sandbox", err)
	}
	if last.Mode.Perm() == treeMode {
		return nil
	}
	return p.furnish(ctx, f, found)
}

// treeMode is the mode of a furnished tree.
const treeMode = 0o700

// furnish gives the three trees to the sandbox's user. The engine writes to the root of a volume only through a
// container with a writable root file system, so furnish creates one and never starts it.
func (p *Provider) furnish(ctx context.Context, f *fence.Fence, main container.InspectResponse) error {
	labels := labelsOf(main.Config.Labels)
	id, err := p.over(ctx, f, main, &container.Config{Image: main.Image, Labels: written(labels, roleFiles), Entrypoint: []string{"/none"}},
		&container.HostConfig{NetworkMode: NetworkNone})
	if err != nil {
		return err
	}
	defer p.discard(ctx, id)
	if _, err = p.engine.ContainerStatPath(ctx, id, "/bin/sh"); cerrdefs.IsNotFound(err) {
		return task.Invalid("docker.image", "the image %s has no /bin/sh. Next: set docker.image to an image with a shell and git", p.cfg.Image)
	}
	archive, err := p.trees()
	if err != nil {
		return err
	}
	if err = p.engine.CopyToContainer(ctx, id, "/", archive, container.CopyToContainerOptions{}); err != nil {
		return engineError("prepare the folders of a sandbox", err)
	}
	return nil
}

// trees returns an archive of the three folders. [sandbox.Dir] is last, because its mode marks the end of furnish.
func (p *Provider) trees() (io.Reader, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, tree := range []string{sandbox.Workspace, sandbox.Home, sandbox.Dir} {
		if err := w.WriteHeader(p.header(tar.TypeDir, tree[1:]+"/", treeMode, 0)); err != nil {
			return nil, fmt.Errorf("pack the folders of a sandbox: %w", err)
		}
	}
	return &archive, w.Close()
}

// over creates a container with the volumes of the container main.
func (p *Provider) over(ctx context.Context, f *fence.Fence, main container.InspectResponse, cfg *container.Config, host *container.HostConfig) (string, error) {
	host.VolumesFrom = []string{main.ID}
	var made container.CreateResponse
	err := asking(f, func() (err error) {
		made, err = p.engine.ContainerCreate(ctx, cfg, host, nil, nil, "")
		return err
	})
	if cerrdefs.IsNotFound(err) {
		return "", task.Errorf(task.CodeNotFound, "the sandbox was removed").WithCause(err)
	}
	if err != nil {
		return "", createError(err)
	}
	return made.ID, nil
}

// discard kills and removes a container, and returns when it is removed.
func (p *Provider) discard(ctx context.Context, id string) {
	ctx, cancel := settled(ctx)
	defer cancel()
	err := p.engine.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
	if err != nil && !gone(err) {
		p.log.WarnContext(ctx, "remove container failed", slog.String("container_id", id), slog.Any("error", err))
	}
}

// blank is the input of create.
type blank struct {
	spec    sandbox.Spec
	network string
	image   image.InspectResponse
	facts   facts
}

// blank collects the input of create, without the lock: a pull of the image takes minutes.
func (p *Provider) blank(ctx context.Context, spec sandbox.Spec) (blank, error) {
	b := blank{spec: spec, network: p.network(spec.Network)}
	var err error
	if b.facts, err = p.facts(ctx); err != nil {
		return b, err
	}
	if err = p.checkNetwork(ctx, b.network); err != nil {
		return b, err
	}
	b.image, err = p.image(ctx)
	return b, err
}

func (p *Provider) create(ctx context.Context, f *fence.Fence, b blank) (sandbox.Sandbox, error) {
	labels := written(b.spec.Labels, roleSandbox)
	labels[labelArch], labels[labelIsolation] = b.image.Architecture, strings.Join(p.parts(b.facts, b.network), ",")
	labels[labelDisk] = strconv.FormatInt(b.spec.Limits.DiskBytes, 10)
	labels[labelLifetime] = strconv.FormatInt(int64(b.spec.Lifetime/time.Second), 10)
	cfg := p.config(b.image.ID, labels, startFile)
	host := p.hostConfig(b)
	host.Mounts = p.mounts(b)
	var made container.CreateResponse
	err := asking(f, func() (err error) {
		made, err = p.engine.ContainerCreate(ctx, cfg, host, nil, nil, task.SandboxName(b.spec.Labels.SandboxID))
		return err
	})
	if err != nil {
		return sandbox.Sandbox{}, createError(err)
	}
	for _, warning := range made.Warnings {
		p.log.WarnContext(ctx, "docker engine warning",
			slog.String("sandbox_id", b.spec.Labels.SandboxID), slog.String("warning", warning))
	}
	box, err := p.adopt(ctx, f, b.spec.Labels)
	box.Adopted = false
	return box, err
}

// createError returns [task.CodeInvalid] for an error that only another setting fixes, else [task.CodeUnavailable].
func createError(err error) error {
	switch {
	case cerrdefs.IsInvalidArgument(err):
		return task.Invalid("docker", "the docker engine rejects the settings of the container: %s", err)
	case cerrdefs.IsConflict(err): // the engine is creating or removing a container of this name
		return engineError("create the container, because its name is in use", err)
	}
	return engineError("create a container", err)
}
