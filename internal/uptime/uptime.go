// Package uptime measures how long this process ran. Time in which the process was stopped, by
// SIGSTOP or in a paused container, does not count, so that a limit of a frozen agent is not
// reached while it is frozen.
package uptime

import (
	"context"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/wait"
)

const (
	step = time.Second
	// most is how much of one step counts. What is more is time in which the process was stopped.
	most = 5 * time.Second
)

// Clock counts the time in which its process ran.
type Clock struct {
	mu   sync.Mutex
	sum  time.Duration // guarded by mu
	last time.Time     // when sum was written; guarded by mu
}

// process is the clock of this process, started by the first who reads it.
//
//nolint:gochecknoglobals // there is one process
var process = sync.OnceValue(func() *Clock {
	c := &Clock{last: time.Now()}
	go func() {
		for range time.Tick(step) {
			c.read(time.Now())
		}
	}()
	return c
})

// Now is how long this process ran since the first call.
func Now() time.Duration { return process().read(time.Now()) }

// read adds the time since the last reading, or what of it counts.
func (c *Clock) read(now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if passed := now.Sub(c.last); passed > 0 {
		c.sum, c.last = c.sum+min(passed, most), now
	}
	return c.sum
}

// WithTimeout returns a context that ends when this process ran for d, or with ctx.
func WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	end := Now() + d
	go func() {
		defer cancel()
		for left := d; left > 0; left = end - Now() {
			if wait.For(ctx, left) != nil {
				return
			}
		}
	}()
	return ctx, cancel
}

// After returns a channel that is closed when this process ran for d, as [time.After] does by the wall clock.
func After(d time.Duration) <-chan struct{} {
	ctx, _ := WithTimeout(context.Background(), d)
	return ctx.Done()
}
