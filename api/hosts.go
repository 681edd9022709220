package api

import (
	"context"

	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/task"
)

func (a *API) listHosts(ctx context.Context, _ *struct{}) (*pageOut[client.Host], error) {
	hosts, err := a.deps.Store.Hosts(ctx)
	return &pageOut[client.Host]{Body: task.Page[client.Host]{Items: hosts}}, err
}

type hostIn struct {
	ID string `path:"id" minLength:"1" maxLength:"200"`
}

type hostOut struct {
	Body client.Host
}

// loseHost wakes the relay: the attempts on the host are told by an event.
func (a *API) loseHost(ctx context.Context, in *hostIn) (*hostOut, error) {
	host, err := a.deps.Store.LoseHost(ctx, in.ID)
	a.deps.Bus.Wake(live.Relay)
	return &hostOut{Body: host}, err
}
