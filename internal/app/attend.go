package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/wait"
)

// attendPeriod is how often somebody looks at what nothing but time makes due.
const attendPeriod = time.Second

// attend lets tasks go on whose time has come, as the limit of their credential has reset, and holds those at work to their
// budgets. Any number of processes may do so.
func (c *core) attend(ctx context.Context) error {
	for failed := false; wait.For(ctx, attendPeriod) == nil; {
		told, err := c.store.EnforceBudgets(ctx)
		for _, sandboxID := range told {
			c.bus.Wake(live.Messages(sandboxID))
		}
		err = errors.Join(err, c.store.CheckCooldowns(ctx))
		if err != nil && !failed && ctx.Err() == nil { // an outage is told once
			c.log.WarnContext(ctx, "cannot look for tasks whose time or budget has run out; looking on", slog.Any("error", err))
		}
		failed = err != nil
	}
	return nil
}
