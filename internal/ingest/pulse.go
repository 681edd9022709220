package ingest

import (
	"context"
	"log/slog"
	"time"
)

// beat notes that a part is alive, at once and then in every period, until ctx ends.
func beat(ctx context.Context, store Pulse, part string, period time.Duration, log *slog.Logger) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		beatOnce(ctx, store, part, period, log)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func beatOnce(ctx context.Context, store Pulse, part string, period time.Duration, log *slog.Logger) {
	limited, cancel := context.WithTimeout(ctx, period)
	defer cancel()
	if err := store.Beat(limited, part); err != nil && ctx.Err() == nil {
		log.WarnContext(ctx, "pulse not noted", slog.String("part", part), slog.Any("error", err))
	}
}
