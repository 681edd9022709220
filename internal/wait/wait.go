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

// Outlast is a context that ends some time after ctx.
func Outlast(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(d, cancel)
		context.AfterFunc(longer, func() { timer.Stop() })
	})
	return longer, func() { stop(); cancel() }
}

// Notify makes a channel with room for one ready, if it is not.
func Notify(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
