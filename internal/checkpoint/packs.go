package checkpoint

import (
	"context"
	"io"
)

// Packs stores packs outside the database, under keys that are used once. Errors: [task.CodeUnavailable]; [task.CodeNotFound] for a
// pack that is missing, or that ends before the offset.
type Packs interface {
	// Put stores a pack as a whole, or not at all.
	Put(ctx context.Context, key string, size int64, content io.Reader) error
	// Read returns at most the given number of bytes from an offset on.
	Read(ctx context.Context, key string, offset, most int64) ([]byte, error)
	// Delete deletes a pack, if it exists, and what an interrupted Put left of it.
	Delete(ctx context.Context, key string) error
}
