package api

import (
	"context"

	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// Storage measures what is stored.
type Storage interface {
	Storage(ctx context.Context, rules task.Retention) (task.Storage, error)
}

type storageOut struct {
	Body client.Storage
}

func (a *API) storage(ctx context.Context, _ *struct{}) (*storageOut, error) {
	found, err := a.deps.Store.Storage(ctx, a.cfg.Retention)
	return &storageOut{Body: found}, err
}
