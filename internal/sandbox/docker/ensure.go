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

// Ensure makes the container, or adopts the one whose labels all agree. It answers
// [sandbox.ErrNameTaken] for another's, [sandbox.ErrFenced] after a delete,
// [task.CodeInvalid] for limits out of range, a network or an image that cannot be had.
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

// adopt answers the sandbox that is there.
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

// ready finds a sandbox in which something is to be started. One that is being removed is not
// there any more.
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

// finish gives the volumes of a container whose maker died to their user.
func (p *Provider) finish(ctx context.Context, f *fence.Fence, found container.InspectResponse) error {
	if started(found) {
		return nil
	}
	last, err := p.engine.ContainerStatPath(ctx, found.ID, sandbox.Dir)
	if err != nil {
		return engineError("look into a sandbox", err)
	}
	if last.Mode.Perm() == treeMode {
		return nil
	}
	return p.furnish(ctx, f, found)
}

// treeMode is that of a tree that belongs to its user.
const treeMode = 0o700

// furnish gives the three trees to the sandbox's user. The engine writes to a root of volumes
// only through a container whose own root is writable, so one is made for it and never started.
func (p *Provider) furnish(ctx context.Context, f *fence.Fence, main container.InspectResponse) error {
	labels := labelsOf(main.Config.Labels)
	id, err := p.over(ctx, f, main, &container.Config{Image: main.Image, Labels: written(labels, roleFiles), Entrypoint: []string{"/none"}},
		&container.HostConfig{NetworkMode: NetworkNone})
	if err != nil {
		return err
	}
	defer p.discard(ctx, id)
	if _, err = p.engine.ContainerStatPath(ctx, id, "/bin/sh"); cerrdefs.IsNotFound(err) {
		return task.Invalid("docker.image", "the image %s has no /bin/sh; sandboxes need one with a shell and git", p.cfg.Image)
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

// trees is an archive of the three folders; [sandbox.Dir] is last, as the mark that it is done.
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

// over makes a container over the volumes of the sandbox's.
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

// discard ends a container that still runs and removes it. It returns once nothing of it is left.
func (p *Provider) discard(ctx context.Context, id string) {
	ctx, cancel := settled(ctx)
	defer cancel()
	err := p.engine.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
	if err != nil && !gone(err) {
		p.log.WarnContext(ctx, "remove container failed", slog.String("container_id", id), slog.Any("error", err))
	}
}

// blank is what a container is made from.
type blank struct {
	spec    sandbox.Spec
	network string
	image   image.InspectResponse
	facts   facts
}

// blank gathers it, before the lock: an image may take minutes.
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

// createError tells what a setting would mend from what may be over soon.
func createError(err error) error {
	switch {
	case cerrdefs.IsInvalidArgument(err):
		return task.Invalid("docker", "the docker engine refuses such a container: %s", err)
	case cerrdefs.IsConflict(err): // the engine still makes or removes one of this name
		return engineError("make the container, whose name is in use", err)
	}
	return engineError("make a container", err)
}
