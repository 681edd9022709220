package api

import (
	"context"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/retention"
	"github.com/omoi-dev/omoi/internal/task"
)

// Sandboxes reads the sandbox ledger.
type Sandboxes interface {
	SandboxRow(ctx context.Context, organizationID, id string, bare bool) (task.Sandbox, error)
	SandboxRows(ctx context.Context, organizationID string, q client.SandboxQuery) (client.Page[task.Sandbox], error)
}

// SandboxPath is the sandbox in the path of a request.
type SandboxPath struct {
	SandboxID string `path:"sandbox_id" minLength:"1" maxLength:"100" doc:"Sandbox ID, as the sandbox_id of a task or the sandbox list shows"`
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

// Hosts stores the hosts of sandboxes.
type Hosts interface {
	Hosts(ctx context.Context) ([]client.Host, error)
	// LoseHost marks a host as lost; [task.CodeConflict] while the host still reports.
	LoseHost(ctx context.Context, id string) (client.Host, error)
}

func (a *API) listHosts(ctx context.Context, in *client.PageRequest) (*pageOut[client.Host], error) {
	all, err := a.deps.Hosts.Hosts(ctx)
	return whole(*in, func(h client.Host) string { return h.ID }, all, err)
}

type hostIn struct {
	ID string `path:"id" minLength:"1" maxLength:"200" doc:"Host ID from the list of hosts; its name is not accepted"`
}

func (a *API) loseHost(ctx context.Context, in *hostIn) (*bodyOut[client.Host], error) {
	host, err := a.deps.Hosts.LoseHost(ctx, in.ID)
	if err == nil {
		// Attempts on the host learn of it by an event, for which the database sends no notification.
		a.deps.Bus.Wake(live.Relay)
	}
	return body(host, err)
}

// Storage measures the stored data.
type Storage interface {
	Storage(ctx context.Context, rules retention.Policy) (retention.Storage, error)
}

func (a *API) storage(ctx context.Context, _ *struct{}) (*bodyOut[retention.Storage], error) {
	return body(a.deps.Storage.Storage(ctx, a.cfg.Retention))
}
