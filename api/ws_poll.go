package api

import (
	"context"

	"github.com/omoi-dev/omoi/internal/ingest"
)

// busStand is where readers of the bus of one organization stand.
type busStand struct {
	organization string
	bare         bool
	after        ingest.BusPlace
}

// busPage is what follows.
type busPage struct {
	events []ingest.BusEvent
	next   ingest.BusPlace
}

// busAfter returns the next entries of the bus; readers at one place share the look.
func (a *API) busAfter(
	ctx context.Context, who ingest.BusReader, after ingest.BusPlace,
) ([]ingest.BusEvent, ingest.BusPlace, error) {
	page, err := a.bulletins.ask(ctx, busStand{who.OrganizationID, who.Bare, after}, func(ctx context.Context, at busStand) (busPage, error) {
		reader := ingest.BusReader{OrganizationID: at.organization, Bare: at.bare}
		events, next, err := a.deps.Bulletin.BusEvents(ctx, reader, at.after, streamBatch)
		return busPage{events, next}, err
	})
	return page.events, page.next, err
}
