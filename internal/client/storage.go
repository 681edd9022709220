package client

import (
	"context"

	"github.com/omoi-dev/omoi/internal/retention"
)

// Storage returns the size of stored data by kind, and what the next retention pass removes.
func (c *Client) Storage(ctx context.Context) (retention.Storage, error) {
	return answer[retention.Storage](ctx, c, call{path: prefix + "/storage"})
}
