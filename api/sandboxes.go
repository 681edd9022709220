package api

import (
	"context"
	"slices"

	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// SandboxPath is the part of a request that names a sandbox.
type SandboxPath struct {
	SandboxID string `path:"sandbox_id" minLength:"1" maxLength:"100"`
}

type sandboxOut struct {
	Body client.Sandbox
}

func (a *API) getSandbox(ctx context.Context, in *SandboxPath) (*sandboxOut, error) {
	organization, err := a.organizationOf(ctx, callerOf(ctx))
	if err != nil {
		return nil, err
	}
	box, err := a.deps.Store.SandboxRow(ctx, organization, in.SandboxID, a.cfg.Open)
	return &sandboxOut{Body: box}, err
}

type listSandboxesIn struct {
	TaskID     string `query:"task_id"`
	State      string `query:"state" doc:"intended, creating, running, deleting, gone or lost"`
	Unverified bool   `query:"unverified" doc:"Only those that are not verified gone"`
	Paging
}

func (a *API) listSandboxes(ctx context.Context, in *listSandboxesIn) (*pageOut[client.Sandbox], error) {
	switch {
	case in.TaskID != "" && !isID(in.TaskID):
		return nil, task.Invalid("task_id", "%q is no task id.", clip(in.TaskID))
	case in.State != "" && !slices.Contains(sandboxStates(), task.SandboxState(in.State)):
		return nil, task.Invalid("state", "The state %q is not one of %s.", clip(in.State), joined(sandboxStates()))
	}
	page, err := a.deps.Store.SandboxRows(ctx, callerOf(ctx).organization, task.SandboxQuery{
		PageRequest: in.request(), TaskID: in.TaskID, State: in.State, Unverified: in.Unverified, Bare: a.cfg.Open,
	})
	return &pageOut[client.Sandbox]{Body: page}, err
}

func sandboxStates() []task.SandboxState {
	return []task.SandboxState{
		task.SandboxIntended, task.SandboxCreating, task.SandboxRunning, task.SandboxDeleting, task.SandboxGone, task.SandboxLost,
	}
}
