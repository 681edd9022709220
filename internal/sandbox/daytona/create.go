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

// order returns the create request for spec, with the snapshot if one is configured.
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
	order.SetSnapshot(p.cfg.Snapshot) // without resources: Daytona rejects them together with a snapshot
	return order
}

// lastNets sets the limits with which Daytona itself removes a sandbox that omoi has lost. The sandbox stops after
// lifetime without activity, and is deleted after the same time again. ttlMinutes deletes it after lifetime on servers
// that support the field. A lifetime of 0 disables all of them.
func lastNets(order *apiclient.CreateSandbox, lifetime time.Duration) {
	if lifetime <= 0 {
		order.SetAutoStopInterval(0)
		return
	}
	minutes := int32(min(math.Ceil(lifetime.Minutes()), math.MaxInt32))
	order.SetAutoStopInterval(minutes)
	order.SetAutoDeleteInterval(minutes)
	// The client library does not know this field yet. Older servers ignore it.
	order.AdditionalProperties = map[string]any{"ttlMinutes": minutes}
}

// fromImage returns the order with the image instead of the snapshot, and with the requested resources.
func (p *Provider) fromImage(order apiclient.CreateSandbox, spec sandbox.Spec) apiclient.CreateSandbox {
	order.Snapshot = nil
	order.SetBuildInfo(*apiclient.NewCreateBuildInfo("FROM " + p.cfg.Image + "\n"))
	cpu, memory, disk := whole(spec.Limits)
	order.SetCpu(cpu)
	order.SetMemory(memory)
	order.SetDisk(disk)
	return order
}

// afterRefusal returns the next order after Daytona rejected one. If a failed sandbox has the name, or the snapshot is
// now active, the order is unchanged. If the snapshot is not usable, the order uses the image. Any other refusal is
// returned as the error.
func (p *Provider) afterRefusal(ctx context.Context, spec sandbox.Spec, order apiclient.CreateSandbox, refusal error) (apiclient.CreateSandbox, error) {
	if left, err := p.client.get(ctx, order.GetName()); err == nil && agree(left.Labels, spec.Labels) {
		return order, nil // accepted, but failed: adopt removes the sandbox
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
			return order, refusal // the snapshot is usable, so it is not the reason
		}
		err = p.activate(ctx, found)
		if err == nil || ctx.Err() != nil {
			return order, ctx.Err()
		}
		why = cut(err.Error()) // any failure leads to the image
	}
	p.log.WarnContext(ctx, "daytona snapshot not usable, using image",
		slog.String("snapshot", p.cfg.Snapshot), slog.String("image", p.cfg.Image), slog.String("reason", why))
	return p.fromImage(order, spec), nil
}

// activate activates an inactive snapshot, and waits until the snapshot is active.
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

// snapshot returns the snapshot, or in why the reason that it is not usable.
func (p *Provider) snapshot(ctx context.Context) (found *apiclient.SnapshotDto, why string, err error) {
	found, err = p.client.snapshot(ctx, p.cfg.Snapshot)
	switch {
	case task.CodeOf(err) == task.CodeNotFound:
		return nil, "snapshot " + p.cfg.Snapshot + " does not exist", nil
	case err == nil && p.cfg.Target != "" && len(found.RegionIds) > 0 && !slices.Contains(found.RegionIds, p.cfg.Target):
		return nil, "snapshot " + p.cfg.Snapshot + " is not in region " + p.cfg.Target, nil
	}
	return found, "", err
}

// activePatience is the maximum time for the activation of a snapshot.
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
