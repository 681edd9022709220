package api

import (
	"context"

	"github.com/omoi-dev/omoi/internal/retention"
)

// Storage measures what is stored.
type Storage interface {
	Storage(ctx context.Context, rules retention.Policy) (retention.Storage, error)
}

func (a *API) storage(ctx context.Context, _ *struct{}) (*bodyOut[retention.Storage], error) {
	return body(a.deps.Storage.Storage(ctx, a.cfg.Retention))
}
