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

// LoadSandbox says what is left to do for a sandbox, and on which queue. It runs anywhere,
// also where its provider does not.
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

// unmade ends a row of a provider that lacks its configuration, if its making never began: there
// is nothing to delete, and nobody who could be asked.
func (a *Activities) unmade(ctx context.Context, row task.Sandbox) (bool, error) {
	p, err := a.deps.Providers.Provider(row.Provider)
	if err != nil || row.State != task.SandboxIntended || ready(p) == nil {
		return false, nil //nolint:nilerr // a provider that is not here says nothing about its sandboxes
	}
	return a.deps.Ledger.SandboxUnmade(ctx, row.ID)
}

// graceToPickup makes of the default grace the contract's default for work that lies.
const graceToPickup = 4

// capabilities are the provider's, or the careful ones of a provider that this process does
// not have.
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

// DeleteSandbox removes the sandbox that has its name and all its labels, and fences a
// create that is still under way where the provider can.
func (a *Activities) DeleteSandbox(ctx context.Context, in contract.SandboxRef) error {
	_, stop := beating[struct{}](ctx)
	defer stop()
	p, err := a.here(ctx, in.SandboxID)
	if err != nil || !p.machine() {
		return err
	}
	a.noteUnseen(ctx, p)
	a.keepLog(ctx, p)
	if err = p.provider.Delete(ctx, p.labels); err == nil || absent(err) {
		return nil
	}
	return fmt.Errorf("delete sandbox %s: %w", in.SandboxID, err)
}

// absent reports whether err says that what was to end is not there.
func absent(err error) bool {
	code := task.CodeOf(err)
	return code == task.CodeNotFound || code == task.CodeGone
}

// noteUnseen has the ledger tell of a sandbox whose making nobody waited for: it may be there, and
// cost since then. What cannot be told holds up no deletion.
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
		a.log.WarnContext(ctx, "record sandbox creation time failed", slog.String("sandbox_id", p.row.ID), slog.String("error", a.brief(err.Error())))
	}
}

// deletePatience is how long a deletion waits for each thing that is still to be learned before it.
const deletePatience = 20 * time.Second

// keepLog keeps what was printed, as far as it can be had soon: a log holds up no deletion.
func (a *Activities) keepLog(ctx context.Context, p place) {
	if a.deps.Logs == nil || !p.exec() {
		return
	}
	within, stop := context.WithTimeout(ctx, deletePatience)
	defer stop()
	if err := a.deps.Logs.Keep(within, p.provider, p.labels); err != nil {
		a.log.WarnContext(ctx, "store sandbox log failed", slog.String("sandbox_id", p.row.ID), slog.String("error", a.brief(err.Error())))
	}
}

// VerifyDeleted looks whether the provider still has the sandbox. One that cannot be asked is
// an error, never a gone. One that appeared after it had been seen to be gone is there again in
// the ledger too.
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

// settleSalvageLost is the event of a cleanup whose window for salvage has passed.
const settleSalvageLost = "salvage_lost"

// RecordSandboxState moves the ledger's row on. Work that could not be reached within the window
// is written off with the time of the last contact.
func (a *Activities) RecordSandboxState(ctx context.Context, in contract.RecordSandboxStateInput) error {
	if in.Event == settleSalvageLost {
		return a.writeOff(ctx, in.SandboxID)
	}
	return a.deps.Ledger.RecordSandboxState(ctx, in)
}

// writeOff says honestly that work was lost, unless it was saved after all.
func (a *Activities) writeOff(ctx context.Context, sandboxID string) error {
	row, err := a.deps.Ledger.LedgerSandbox(ctx, sandboxID)
	if err != nil || row.Salvage != nil {
		return err
	}
	since := a.lastContact(ctx, row)
	return a.deps.Ledger.SaveSalvage(ctx, sandboxID, task.Salvage{Kind: task.SalvageLost, LostSince: &since})
}
