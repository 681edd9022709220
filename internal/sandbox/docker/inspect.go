package docker

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/volume"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/fence"
)

// killed is the exit code after SIGKILL.
const killed = 137

// started reports whether the container's command ever ran.
func started(c container.InspectResponse) bool {
	return c.State.Status != container.StateCreated
}

// Inspect returns [sandbox.StateUnknown] if the engine does not answer. A container with other labels is another
// sandbox, so the result is [sandbox.StateGone].
func (p *Provider) Inspect(ctx context.Context, labels sandbox.Labels) (sandbox.Inspection, error) {
	found, err := p.find(ctx, labels)
	if err != nil {
		return sandbox.Unseen(err)
	}
	seen := inspection(found)
	p.judgeDisk(labels, &seen)
	seen.ProviderID = found.ID
	seen.CreatedAt, _ = time.Parse(time.RFC3339Nano, found.Created)
	return seen, nil
}

// judgeDisk sets DiskFull for a command that [Provider.KeepDisks] killed. judgeDisk reads the fence without the lock:
// it ignores a half-written fence, which the next call reads.
func (p *Provider) judgeDisk(labels sandbox.Labels, seen *sandbox.Inspection) {
	if seen.Agent != sandbox.StateGone || seen.ExitCode >= 0 {
		return
	}
	var n fence.Note
	text, err := os.ReadFile(p.fenceOf(labels))
	if err == nil && json.Unmarshal(text, &n) == nil && n.Full != "" {
		seen.DiskFull, seen.Reason = true, n.Full
	}
}

func inspection(c container.InspectResponse) sandbox.Inspection {
	seen := sandbox.Inspection{State: sandbox.StateAlive, Agent: sandbox.StateGone, Started: started(c), ExitCode: -1, OOM: c.State.OOMKilled}
	switch {
	case !seen.Started:
		seen.Reason = "no command was started"
	case c.State.Running || c.State.Paused || c.State.Restarting:
		seen.Agent = sandbox.StateAlive
	case c.State.ExitCode == killed:
		seen.Reason = "killed"
		if seen.OOM {
			seen.Reason = "killed at the memory limit"
		}
	default:
		seen.ExitCode = c.State.ExitCode
		seen.Reason = fmt.Sprintf("exit code %d", c.State.ExitCode)
	}
	return seen
}

// List returns the sandboxes of an installation, including volumes without a container.
func (p *Provider) List(ctx context.Context, installation string) ([]sandbox.Sandbox, error) {
	return p.list(ctx, ofInstallation(installation))
}

// Survey returns the sandboxes of all installations.
func (p *Provider) Survey(ctx context.Context) ([]sandbox.Sandbox, error) {
	return p.list(ctx, filters.NewArgs(filters.Arg("label", labelInstallation)))
}

func (p *Provider) containers(ctx context.Context, which container.ListOptions) ([]container.Summary, error) {
	found, err := p.engine.ContainerList(ctx, which)
	if err != nil {
		return nil, engineError("list its containers", err)
	}
	return found, nil
}

func (p *Provider) list(ctx context.Context, which filters.Args) ([]sandbox.Sandbox, error) {
	containers, err := p.containers(ctx, container.ListOptions{All: true, Filters: which})
	if err != nil {
		return nil, err
	}
	volumes, err := p.engine.VolumeList(ctx, volume.ListOptions{Filters: which})
	if err != nil {
		return nil, engineError("list its volumes", err)
	}
	found := make(map[sandbox.Labels]sandbox.Sandbox)
	for _, v := range volumes.Volumes {
		box := boxOf(v.Name, v.Labels)
		box.CreatedAt, _ = time.Parse(time.RFC3339, v.CreatedAt)
		found[box.Labels] = box
	}
	for _, c := range containers {
		box := boxOf(c.ID, c.Labels)
		box.CreatedAt = time.Unix(c.Created, 0).UTC()
		if _, known := found[box.Labels]; !known || c.Labels[labelRole] == roleSandbox {
			found[box.Labels] = box
		}
	}
	return slices.Collect(maps.Values(found)), nil
}
