package activities

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// LoadSandbox returns which cleanup steps of a sandbox are left, and their task queue. It runs on any worker, even if
// the provider is not configured there.
func (a *Activities) LoadSandbox(ctx context.Context, in contract.SandboxRef) (contract.LoadedSandbox, error) {
	row, err := a.deps.Ledger.LedgerSandbox(ctx, in.SandboxID)
	if err != nil {
		return contract.LoadedSandbox{}, fmt.Errorf("read ledger of sandbox %s: %w", in.SandboxID, err)
	}
	unmade, err := a.unmade(ctx, row)
	if err != nil {
		return contract.LoadedSandbox{}, err
	}
	frozen, err := a.deps.Ledger.FrozenTime(ctx, in.SandboxID)
	if err != nil {
		return contract.LoadedSandbox{}, err
	}
	caps := a.capabilities(row.Provider)
	return contract.LoadedSandbox{
		Frozen:        frozen,
		Provider:      row.Provider,
		Queue:         contract.QueueOf(caps, row.HostID),
		Verify:        caps.Machine,
		Salvaged:      row.Salvage != nil,
		Verified:      row.VerifiedAt != nil || unmade,
		LongestCreate: caps.LongestCreate,
		SalvageWindow: a.cfg.SalvageWindow,
		Lost:          row.State == task.SandboxLost,
		Pickup:        max(a.cfg.Grace/graceToPickup, time.Second),
		Pulled:        a.pulled(row),
	}, nil
}

// unmade closes the row of a sandbox that was never created and whose provider is not configured: there is nothing to
// delete.
func (a *Activities) unmade(ctx context.Context, row task.Sandbox) (bool, error) {
	p, err := a.deps.Providers.Provider(row.Provider)
	if err != nil || row.State != task.SandboxIntended || ready(p) == nil {
		return false, nil //nolint:nilerr // a provider that is not here says nothing about its sandboxes
	}
	return a.deps.Ledger.SandboxUnmade(ctx, row.ID)
}

// graceToPickup divides the default orphan grace period to get the contract's default time for the pickup of an
// activity.
const graceToPickup = 4

// capabilities returns those of the provider, or the most cautious ones if this process does not have the provider.
func (a *Activities) capabilities(provider string) sandbox.Capabilities {
	if p, err := a.deps.Providers.Provider(provider); err == nil {
		return p.Capabilities()
	}
	caps := task.ProviderOf(provider).Capabilities
	if caps.Machine {
		caps.LongestCreate = maxCreateDelay
	}
	return caps
}

// DeleteSandbox deletes the sandbox with this name and all its labels. If the provider supports fencing, DeleteSandbox
// also fences a create call that is in progress.
func (a *Activities) DeleteSandbox(ctx context.Context, in contract.SandboxRef) error {
	_, stop := beating[struct{}](ctx)
	defer stop()
	p, err := a.here(ctx, in.SandboxID)
	if err != nil || !p.machine() {
		return err
	}
	a.noteUnseen(ctx, p)
	a.keepLog(ctx, p)
	a.discard(ctx, p)
	if err = p.provider.Delete(ctx, p.labels); err == nil || absent(err) {
		return nil
	}
	return fmt.Errorf("delete sandbox %s: %w", in.SandboxID, err)
}

// absent reports whether err means that the object to delete does not exist.
func absent(err error) bool {
	code := task.CodeOf(err)
	return code == task.CodeNotFound || code == task.CodeGone
}

// noteUnseen records a sandbox whose create call got no answer: it may exist and cost money. A failure does not delay
// the deletion.
func (a *Activities) noteUnseen(ctx context.Context, p place) {
	if p.row.ProviderCreatedAt != nil {
		return
	}
	within, stop := context.WithTimeout(ctx, deletePatience)
	defer stop()
	seen, err := p.inspect(within)
	if err == nil && seen.State == sandbox.StateAlive {
		err = a.deps.Ledger.SandboxSeen(ctx, p.row.ID, seen.ProviderID, seen.CreatedAt)
	}
	if err != nil {
		a.log.WarnContext(ctx, "record sandbox creation time failed, deletion continues", slog.String("sandbox_id", p.row.ID), slog.String("error", a.brief(err.Error())))
	}
}

// deletePatience limits each query for the log or state of a sandbox before its deletion.
const deletePatience = 20 * time.Second

// keepLog stores the sandbox log if it can be read in time. A failure does not delay the deletion.
func (a *Activities) keepLog(ctx context.Context, p place) {
	if a.deps.Logs == nil || !p.exec() {
		return
	}
	within, stop := context.WithTimeout(ctx, deletePatience)
	defer stop()
	if err := a.deps.Logs.Keep(within, p.provider, p.labels); err != nil {
		a.log.WarnContext(ctx, "store sandbox log failed, deletion continues", slog.String("sandbox_id", p.row.ID), slog.String("error", a.brief(err.Error())))
	}
}

// discardPatience limits what omoi-agent does to delete what an agent has stored outside of its sandbox.
const discardPatience = 90 * time.Second

// discard makes omoi-agent delete what the agent has stored outside of its sandbox. What remains is an event of the sandbox, and does not
// delay the deletion further.
func (a *Activities) discard(ctx context.Context, p place) {
	if !p.exec() || p.row.TaskID == "" || p.row.StartedAt == nil && p.row.Head == 0 {
		return
	}
	within, stop := context.WithTimeout(ctx, discardPatience)
	defer stop()
	work, err := a.deps.Tasks.Work(within, p.row.TaskID)
	if err == nil && !task.RuntimeOf(work.Agent).Discards {
		return
	}
	if err == nil {
		err = a.halt(within, p) // a running agent would store more
	}
	if err == nil && a.pulled(p.row) {
		r := a.newPullRelay(p)
		defer r.post.Wait()
		defer r.carry(within)()
	}
	if err == nil {
		err = p.afterwards(within, "discard", discardPatience)
	}
	if err != nil {
		a.log.WarnContext(ctx, "discard what the agent stored outside of the sandbox failed, deletion continues", slog.String("sandbox_id", p.row.ID), slog.String("error", a.brief(err.Error())))
	}
}

// VerifyDeleted reports whether the provider no longer has the sandbox. An unreachable provider is an error, never an
// absence. If a sandbox reappears after an absence check, the ledger records it again.
func (a *Activities) VerifyDeleted(ctx context.Context, in contract.SandboxRef) (contract.VerifyDeletedResult, error) {
	_, stop := beating[struct{}](ctx)
	defer stop()
	p, err := a.here(ctx, in.SandboxID)
	if err != nil {
		return contract.VerifyDeletedResult{}, err
	}
	if !p.machine() {
		return contract.VerifyDeletedResult{Gone: true}, nil
	}
	seen, err := p.inspect(ctx)
	if err != nil {
		return contract.VerifyDeletedResult{}, err
	}
	if seen.State == sandbox.StateGone {
		return contract.VerifyDeletedResult{Gone: true}, nil
	}
	if p.row.ProviderCreatedAt == nil || p.row.GoneAt != nil {
		err = a.deps.Ledger.SandboxSeen(ctx, p.row.ID, seen.ProviderID, seen.CreatedAt)
	}
	return contract.VerifyDeletedResult{}, err
}

// settleSalvageLost is the cleanup event of a sandbox whose salvage window has passed.
const settleSalvageLost = "salvage_lost"

// RecordSandboxState advances the ledger row. After the salvage window it records lost work with the time of the last
// contact.
func (a *Activities) RecordSandboxState(ctx context.Context, in contract.RecordSandboxStateInput) error {
	if in.Event == settleSalvageLost {
		return a.writeOff(ctx, in.SandboxID)
	}
	err := a.deps.Ledger.RecordSandboxState(ctx, in)
	if err == nil && in.Event == settleGone {
		a.wakeReaders(ctx, in.SandboxID)
	}
	return err
}

// settleGone is the cleanup event of a sandbox that the provider no longer has.
const settleGone = "gone"

// wakeReaders notifies the streams of the task of a sandbox, which may end now. A lost notification costs latency only.
func (a *Activities) wakeReaders(ctx context.Context, sandboxID string) {
	if row, err := a.deps.Ledger.LedgerSandbox(ctx, sandboxID); err == nil && row.TaskID != "" && a.deps.Wake != nil {
		a.deps.Wake(row.TaskID)
	}
}

// writeOff records the work as lost unless it was saved.
func (a *Activities) writeOff(ctx context.Context, sandboxID string) error {
	row, err := a.deps.Ledger.LedgerSandbox(ctx, sandboxID)
	if err != nil || row.Salvage != nil {
		return err
	}
	since := a.lastContact(ctx, row)
	return a.deps.Ledger.SaveSalvage(ctx, sandboxID, task.Salvage{Kind: task.SalvageLost, LostSince: &since})
}
