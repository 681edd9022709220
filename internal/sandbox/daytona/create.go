package daytona

import (
	"context"
	"log/slog"
	"math"
	"slices"
	"time"

	apiclient "github.com/daytonaio/daytona/libs/api-client-go"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// order is the request that makes the sandbox of spec, from the snapshot if there is one.
func (p *Provider) order(spec sandbox.Spec) apiclient.CreateSandbox {
	order := *apiclient.NewCreateSandbox()
	order.SetName(task.SandboxName(spec.Labels.SandboxID))
	order.SetLabels(spec.Labels.Pairs(labelPrefix))
	order.SetPublic(false)
	order.SetNetworkBlockAll(spec.Network == sandbox.NetworkNone)
	if p.cfg.Target != "" {
		order.SetTarget(p.cfg.Target)
	}
	lastNets(&order, spec.Lifetime)
	if p.cfg.Snapshot == "" {
		return p.fromImage(order, spec)
	}
	order.SetSnapshot(p.cfg.Snapshot) // its resources are its own: Daytona refuses others
	return order
}

// lastNets has Daytona itself remove what omoi forgot: a whole life of quiet stops the sandbox,
// one more deletes it, and where the server knows a time to live, that does. An own stop keeps
// the files, since they may hold work.
func lastNets(order *apiclient.CreateSandbox, lifetime time.Duration) {
	if lifetime <= 0 {
		order.SetAutoStopInterval(0)
		return
	}
	minutes := int32(min(math.Ceil(lifetime.Minutes()), math.MaxInt32))
	order.SetAutoStopInterval(minutes)
	order.SetAutoDeleteInterval(minutes)
	// newer than the client: a server that does not know it ignores it
	order.AdditionalProperties = map[string]any{"ttlMinutes": minutes}
}

// fromImage makes the same sandbox of the image, with the resources asked for.
func (p *Provider) fromImage(order apiclient.CreateSandbox, spec sandbox.Spec) apiclient.CreateSandbox {
	order.Snapshot = nil
	order.SetBuildInfo(*apiclient.NewCreateBuildInfo("FROM " + p.cfg.Image + "\n"))
	cpu, memory, disk := whole(spec.Limits)
	order.SetCpu(cpu)
	order.SetMemory(memory)
	order.SetDisk(disk)
	return order
}

// afterRefusal answers what to order after Daytona refused an order: the same again if the
// snapshot only had to be activated, or if a failed sandbox was in the way, the image if the
// snapshot cannot be had. Anything else is refused for good.
func (p *Provider) afterRefusal(ctx context.Context, spec sandbox.Spec, order apiclient.CreateSandbox, refusal error) (apiclient.CreateSandbox, error) {
	if left, err := p.client.get(ctx, order.GetName()); err == nil && agree(left.Labels, spec.Labels) {
		return order, nil // it was accepted and failed: adopt removes it
	}
	if order.Snapshot == nil {
		return order, refusal
	}
	found, why, err := p.snapshot(ctx)
	if err != nil {
		return order, err
	}
	if why == "" {
		if found.State == apiclient.SNAPSHOTSTATE_ACTIVE {
			return order, refusal // the snapshot is not the reason
		}
		err = p.activate(ctx, found)
		if err == nil || ctx.Err() != nil {
			return order, ctx.Err()
		}
		why = cut(err.Error()) // fallen back from, whatever it was
	}
	p.log.WarnContext(ctx, "daytona snapshot not usable, using image",
		slog.String("snapshot", p.cfg.Snapshot), slog.String("image", p.cfg.Image), slog.String("reason", why))
	return p.fromImage(order, spec), nil
}

// activate waits until the snapshot is active, and activates it if it sleeps.
func (p *Provider) activate(ctx context.Context, found *apiclient.SnapshotDto) error {
	if found.State == apiclient.SNAPSHOTSTATE_INACTIVE {
		if err := p.client.activate(ctx, found.Id); err != nil {
			return err
		}
	}
	err := p.poll(ctx, activePatience, "the snapshot is active", p.isActive)
	if err == nil {
		p.log.InfoContext(ctx, "daytona snapshot activated", slog.String("snapshot", p.cfg.Snapshot))
	}
	return err
}

// snapshot reads the snapshot, or says why it cannot be had.
func (p *Provider) snapshot(ctx context.Context) (found *apiclient.SnapshotDto, why string, err error) {
	found, err = p.client.snapshot(ctx, p.cfg.Snapshot)
	switch {
	case task.CodeOf(err) == task.CodeNotFound:
		return nil, "there is no snapshot " + p.cfg.Snapshot, nil
	case err == nil && p.cfg.Target != "" && len(found.RegionIds) > 0 && !slices.Contains(found.RegionIds, p.cfg.Target):
		return nil, "snapshot " + p.cfg.Snapshot + " is not in region " + p.cfg.Target, nil
	}
	return found, "", err
}

// activePatience is how long a snapshot may take to become active before the image is used.
const activePatience = 2 * time.Minute

func (p *Provider) isActive(ctx context.Context) (bool, error) {
	found, err := p.client.snapshot(ctx, p.cfg.Snapshot)
	if err != nil {
		return false, err
	}
	switch found.State {
	case apiclient.SNAPSHOTSTATE_ACTIVE:
		return true, nil
	case apiclient.SNAPSHOTSTATE_ERROR, apiclient.SNAPSHOTSTATE_BUILD_FAILED, apiclient.SNAPSHOTSTATE_REMOVING:
		return false, task.Errorf(task.CodeInvalid, "the snapshot is %s: %s", found.State, cut(found.GetErrorReason()))
	default:
		return false, nil
	}
}
