package activities

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// place is the ledger row of a sandbox with its provider.
type place struct {
	row      task.Sandbox
	labels   sandbox.Labels
	provider sandbox.Provider // nil for rows without a provider
	caps     sandbox.Capabilities
}

// exec reports whether commands and files work in the sandbox.
func (p place) exec() bool { return p.provider != nil && p.caps.Exec }

// machine reports whether there is a sandbox to delete and to verify.
func (p place) machine() bool { return p.provider != nil && p.caps.Machine }

// find returns a sandbox on any host.
func (a *Activities) find(ctx context.Context, sandboxID string) (place, error) {
	row, err := a.deps.Ledger.LedgerSandbox(ctx, sandboxID)
	if err != nil {
		return place{}, fmt.Errorf("read ledger of sandbox %s: %w", sandboxID, err)
	}
	p := place{row: row}
	if !task.ProviderOf(row.Provider).Machine {
		return p, nil
	}
	if p.labels, err = a.labels(ctx, row); err != nil {
		return place{}, err
	}
	if p.provider, err = a.deps.Providers.Provider(row.Provider); err != nil {
		// Another worker may have the provider, so a setting of this one must not end a cleanup.
		return place{}, task.Errorf(task.CodeUnavailable, "this worker does not offer provider %s", row.Provider).WithCause(err)
	}
	p.caps = p.provider.Capabilities()
	return p, nil
}

// here returns a sandbox that this process can reach. The state of a sandbox on another host is unknown, which never
// means gone.
func (a *Activities) here(ctx context.Context, sandboxID string) (place, error) {
	p, err := a.find(ctx, sandboxID)
	if err != nil {
		return place{}, err
	}
	if p.caps.HostBound && p.row.HostID != "" && p.row.HostID != a.cfg.HostID {
		return place{}, task.Errorf(task.CodeUnavailable, "sandbox %s is on host %s, not on this host %s", sandboxID, p.row.HostID, a.cfg.HostID)
	}
	if at, ok := p.provider.(sandbox.Placed); ok && p.row.ProviderID != "" {
		if err := at.Reaches(ctx, p.row.ProviderID); err != nil {
			return place{}, err
		}
	}
	return p, nil
}

// labels returns the labels of a sandbox as the ledger recorded them before its creation: its task may no longer exist.
func (a *Activities) labels(ctx context.Context, row task.Sandbox) (sandbox.Labels, error) {
	var written sandbox.Labels
	if json.Unmarshal(row.Labels, &written) == nil && written.SandboxID == row.ID {
		return written, nil
	}
	installation, err := a.deps.Fleet.Installation(ctx)
	if err != nil {
		return sandbox.Labels{}, err
	}
	return sandbox.Labels{Installation: installation, TaskID: row.TaskID, Attempt: row.Attempt, SandboxID: row.ID}, nil
}

// inspect asks the provider. If the provider is unreachable, it returns the state unknown with the error.
func (p place) inspect(ctx context.Context) (sandbox.Inspection, error) {
	seen, err := p.provider.Inspect(ctx, p.labels)
	switch {
	case task.CodeOf(err) == task.CodeNotFound:
		return sandbox.Inspection{State: sandbox.StateGone, Agent: sandbox.StateGone, ExitCode: -1}, nil
	case err != nil:
		return sandbox.Inspection{State: sandbox.StateUnknown, Agent: sandbox.StateUnknown}, fmt.Errorf("inspect sandbox %s: %w", p.row.ID, err)
	case seen.State == sandbox.StateUnknown:
		return seen, task.Errorf(task.CodeUnavailable, "provider %s does not know the state of sandbox %s", p.row.Provider, p.row.ID)
	}
	return seen, nil
}
