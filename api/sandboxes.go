package api

import (
	"context"

	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// Sandboxes reads the sandbox ledger.
type Sandboxes interface {
	SandboxRow(ctx context.Context, organizationID, id string, bare bool) (task.Sandbox, error)
	SandboxRows(ctx context.Context, organizationID string, q client.SandboxQuery) (client.Page[task.Sandbox], error)
}

// SandboxPath is the part of a request that names a sandbox.
type SandboxPath struct {
	SandboxID string `path:"sandbox_id" minLength:"1" maxLength:"100"`
}

func (a *API) getSandbox(ctx context.Context, in *SandboxPath) (*bodyOut[client.Sandbox], error) {
	organization, err := a.organizationOf(ctx, callerOf(ctx))
	if err != nil {
		return nil, err
	}
	return body(a.deps.Sandboxes.SandboxRow(ctx, organization, in.SandboxID, a.cfg.Open))
}

func (a *API) listSandboxes(ctx context.Context, in *client.SandboxQuery) (*pageOut[client.Sandbox], error) {
	if err := filterWords("state", in.States, sandboxStates()); err != nil {
		return nil, err
	}
	in.Bare = a.cfg.Open
	return body(a.deps.Sandboxes.SandboxRows(ctx, callerOf(ctx).organization, *in))
}

func sandboxStates() []task.SandboxState {
	return []task.SandboxState{
		task.SandboxIntended, task.SandboxCreating, task.SandboxRunning, task.SandboxDeleting, task.SandboxGone,
		task.SandboxLost,
	}
}
