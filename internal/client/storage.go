package client

import (
	"context"

	"github.com/omoi-dev/omoi/internal/retention"
)

// Storage is the answer of GET /api/v1/storage.
type Storage = retention.Storage

// StorageKind is one element of it.
type StorageKind = retention.StorageKind

// Storage returns the size of stored data by kind, and what the next retention pass removes.
func (c *Client) Storage(ctx context.Context) (Storage, error) {
	return answer[Storage](ctx, c, call{path: prefix + "/storage"})
}
