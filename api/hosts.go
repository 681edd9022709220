package api

import (
	"context"

	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/live"
)

// Hosts stores the machines of sandboxes.
type Hosts interface {
	Hosts(ctx context.Context) ([]client.Host, error)
	// LoseHost declares one lost; [task.CodeConflict] while it still reports.
	LoseHost(ctx context.Context, id string) (client.Host, error)
}

func (a *API) listHosts(ctx context.Context, _ *struct{}) (*pageOut[client.Host], error) {
	return whole(a.deps.Hosts.Hosts(ctx))
}

type hostIn struct {
	ID string `path:"id" minLength:"1" maxLength:"200"`
}

func (a *API) loseHost(ctx context.Context, in *hostIn) (*bodyOut[client.Host], error) {
	host, err := a.deps.Hosts.LoseHost(ctx, in.ID)
	if err == nil {
		a.deps.Bus.Wake(live.Relay) // the attempts on it are told by an event, of which the database notifies nobody
	}
	return body(host, err)
}
