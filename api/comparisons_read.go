package api

import (
	"context"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/candidate"
)

// Comparisons reads comparisons.
type Comparisons interface {
	// Comparison returns [task.CodeNotFound] for a ticket that is not a comparison.
	Comparison(ctx context.Context, organizationID, ticketID string) (candidate.Comparison, error)
}

func (a *API) getComparison(ctx context.Context, in *IDPath) (*bodyOut[client.Comparison], error) {
	return body(a.deps.Comparisons.Comparison(ctx, callerOf(ctx).organization, in.ID))
}
