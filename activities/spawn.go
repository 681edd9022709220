package activities

import (
	"context"
	"fmt"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// EnsureSandbox makes the sandbox whose intent BeginAttempt wrote, or adopts it if an
// earlier try made it. It never adopts one of other labels.
func (a *Activities) EnsureSandbox(ctx context.Context, in contract.SandboxRef) (contract.SpawnedSandbox, error) {
	_, stop := beating[struct{}](ctx)
	defer stop()
	p, err := a.here(ctx, in.SandboxID)
	if err != nil {
		return contract.SpawnedSandbox{}, err
	}
	if err := spawnable(p); err != nil {
		return contract.SpawnedSandbox{}, err
	}
	if err := a.provided(ctx, p.row.TaskID); err != nil {
		return contract.SpawnedSandbox{}, err
	}
	if err := ready(p.provider); err != nil { // before the ledger says that one may exist
		return contract.SpawnedSandbox{}, fmt.Errorf("make sandbox: %w", err)
	}
	if err := a.deps.Ledger.SandboxCreating(ctx, in.SandboxID, a.transport(p.row)); err != nil {
		return contract.SpawnedSandbox{}, ofSandbox(fmt.Errorf("write intent to make: %w", err))
	}
	made, err := a.ensure(ctx, p)
	if err != nil {
		return contract.SpawnedSandbox{}, ofSandbox(fmt.Errorf("make sandbox: %w", err))
	}
	if err := a.deps.Ledger.SandboxRunning(ctx, in.SandboxID, made); err != nil {
		return contract.SpawnedSandbox{}, ofSandbox(fmt.Errorf("write that it runs: %w", err))
	}
	return contract.SpawnedSandbox{
		ProviderID: made.ProviderID, Adopted: made.Adopted, Isolation: made.Isolation, Pulled: a.pulled(p.row),
	}, nil
}

// ready says what a provider lacks before it can make anything.
func ready(p sandbox.Provider) error {
	if r, ok := p.(sandbox.Readier); ok {
		return r.Ready()
	}
	return nil
}

// spawnable refuses to make what is over already: an attempt that was cancelled meanwhile.
func spawnable(p place) error {
	if p.row.Provider == task.ProviderBare {
		return task.Invalid("sandbox", "Sandbox %s is no sandbox of a task.", p.row.ID)
	}
	switch p.row.State {
	case task.SandboxDeleting, task.SandboxGone, task.SandboxLost:
		return classed(task.ClassInfrastructure, task.Errorf(task.CodeGone, "sandbox %s is %s already", p.row.ID, p.row.State))
	case task.SandboxIntended, task.SandboxCreating, task.SandboxRunning:
	}
	return nil
}
