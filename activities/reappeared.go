package activities

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// again takes up again what the ledger has as verified gone and a provider lists: a create that was later than any look, or a
// delete that was taken back. A list may be late too, so the provider is asked for each; what it cannot tell now is left to the next round.
func (a *Activities) again(ctx context.Context, provider string, listed []sandbox.Sandbox, orphans []contract.Orphan) ([]contract.Orphan, error) {
	labels := make(map[string]sandbox.Labels, len(listed))
	for _, box := range listed {
		labels[box.Labels.SandboxID] = box.Labels
	}
	var there []contract.Orphan
	var appeared bool
	for _, o := range orphans {
		row, err := a.deps.Ledger.LedgerSandbox(ctx, o.SandboxID)
		if task.CodeOf(err) != task.CodeNotFound && err != nil {
			return nil, fmt.Errorf("read sandbox %s: %w", o.SandboxID, err)
		}
		if err == nil && row.VerifiedAt != nil {
			if !a.takeUp(ctx, provider, labels[o.SandboxID]) {
				continue
			}
			appeared = true
		}
		there = append(there, o)
	}
	if appeared {
		return there, a.tellAgain(ctx)
	}
	return there, nil
}

// takeUp reports whether the sandbox is really there, and is in the ledger again.
func (a *Activities) takeUp(ctx context.Context, provider string, labels sandbox.Labels) bool {
	seen, err := a.inspectListed(ctx, provider, labels)
	there := err == nil && seen.State == sandbox.StateAlive
	if there {
		err = a.deps.Fleet.MarkReappeared(ctx, labels.SandboxID, seen.ProviderID, seen.CreatedAt)
	}
	if err != nil {
		a.log.WarnContext(ctx, "not told whether a sandbox is there again", slog.String("sandbox_id", labels.SandboxID), slog.String("error", a.brief(err.Error())))
	}
	return there && err == nil
}

func (a *Activities) inspectListed(ctx context.Context, provider string, labels sandbox.Labels) (sandbox.Inspection, error) {
	p, err := a.deps.Providers.Provider(provider)
	if err != nil {
		return sandbox.Inspection{}, err
	}
	within, stop := context.WithTimeout(ctx, deletePatience)
	defer stop()
	return p.Inspect(within, labels)
}

// tellAgain tells a person of what was there again, until it is verified gone anew.
func (a *Activities) tellAgain(ctx context.Context) error {
	n, id, err := a.deps.Fleet.CountReappeared(ctx)
	if err != nil {
		return fmt.Errorf("count what is there again: %w", err)
	}
	text := ""
	if n > 0 {
		text = fmt.Sprintf("sandboxes that were there again after they had been verified gone: %d, %s among them; they are deleted and looked for anew. "+
			"Where it happens more than once a longer time before the second look helps, as daytona.max_create_delay", n, id)
	}
	a.alarm(ctx, "seen again", text)
	return nil
}
