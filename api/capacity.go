package api

import (
	"context"

	"github.com/omoi-dev/omoi/api/client"
)

// Figures reads what an organization uses.
type Figures interface {
	Capacity(ctx context.Context, organizationID string) (client.Capacity, error)
	UsageByDay(ctx context.Context, organizationID string, q client.UsageQuery) (client.UsageByDay, error)
}

func (a *API) registerFigures() {
	server := a.group(tagServer, "/api/v1")
	add(server.on(accessRead, "GET /capacity", "get-capacity", "Get slots and sandboxes in use"), a.capacity,
		details{more: "Slots and queued tasks of the organization and its projects, and sandboxes that are not verified as deleted."})
	add(server.on(accessRead, "GET /usage", "get-usage", "Get usage by day"), a.usage,
		details{more: "Cost and tokens of the attempts that started on each of the last days, running ones by now."})
}

func (a *API) capacity(ctx context.Context, _ *struct{}) (*bodyOut[client.Capacity], error) {
	return body(a.deps.Figures.Capacity(ctx, callerOf(ctx).organization))
}

func (a *API) usage(ctx context.Context, in *client.UsageQuery) (*bodyOut[client.UsageByDay], error) {
	return body(a.deps.Figures.UsageByDay(ctx, callerOf(ctx).organization, *in))
}
