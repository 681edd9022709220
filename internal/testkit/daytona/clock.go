package daytona

import (
	"context"
	"sync"
	"time"
)

// clock is the real one, moved ahead by who has no time to wait.
type clock struct {
	mu     sync.Mutex
	ahead  time.Duration
	turned chan struct{} // closed and made anew when it is moved
}

func newClock() *clock { return &clock{turned: make(chan struct{})} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
	close(c.turned)
	c.turned = make(chan struct{})
}

func (c *clock) look() (time.Time, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead), c.turned
}

// wait returns when d has passed on this clock, or with the error of ctx.
func (c *clock) wait(ctx context.Context, d time.Duration) error {
	now, turned := c.look()
	for end := now.Add(d); now.Before(end); now, turned = c.look() {
		if err := pause(ctx, end.Sub(now), turned); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// pause waits for the time, the sign or the end of ctx, whichever comes first.
func pause(ctx context.Context, d time.Duration, sign <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-sign:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}
