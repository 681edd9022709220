package app

import (
	"context"
	"log/slog"
	"time"
)

// attendPeriod is how often somebody looks at what nothing but time makes due.
const attendPeriod = time.Second

// attend lets tasks go on whose time has come: the limit of their credential has reset. Any number of processes may do so.
func (c *core) attend(ctx context.Context) error {
	tick := time.NewTicker(attendPeriod)
	defer tick.Stop()
	for failed := false; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		err := c.store.WakeSleepers(ctx)
		if err != nil && !failed && ctx.Err() == nil { // an outage is told once
			c.log.WarnContext(ctx, "cannot look for tasks whose time has come; looking on", slog.Any("error", err))
		}
		failed = err != nil
	}
}
