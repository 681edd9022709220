// Package wait waits, unless a context ends first.
package wait

import (
	"context"
	"math/rand/v2"
	"time"
)

// For waits; it returns ctx's error if that ends first.
func For(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Jitter spreads a wait over its second half, so that many do not come back at once.
func Jitter(d time.Duration) time.Duration {
	return d/2 + rand.N(d/2+1) //nolint:gosec // not a secret
}
