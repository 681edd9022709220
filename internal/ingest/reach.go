package ingest

import (
	"context"
	"log/slog"

	"github.com/omoi-dev/omoi/internal/wait"
)

// watchTemporal ends the pauses of all tasks when Temporal answers after an outage: a pause that grows is for a task that fails
// alone. The first answer counts too, since the process before may have ended during an outage.
func (r *Relay) watchTemporal(ctx context.Context) {
	for away := true; wait.For(ctx, r.cfg.Poll) == nil; {
		away = r.isAway(ctx, away)
	}
}

// isAway reports whether Temporal does not answer. While its calls succeed, Temporal is not asked.
func (r *Relay) isAway(ctx context.Context, before bool) bool {
	if !r.doubted.Swap(false) && !before {
		return false
	}
	limited, cancel := context.WithTimeout(ctx, r.cfg.CallTimeout)
	defer cancel()
	if r.runs.Check(limited) != nil {
		return true
	}
	if !before {
		return false
	}
	r.returns.Add(1)
	return r.endPauses(ctx) != nil
}

// missed notes that a call to Temporal failed, after its task was given back; returns is the number of returns when the call began.
// If Temporal returned meanwhile, the pause of the task began after those of the others were ended.
func (r *Relay) missed(ctx context.Context, returns int64) {
	r.doubted.Store(true)
	if r.returns.Load() != returns {
		_ = r.endPauses(ctx) // which logs why not; the pause ends by itself
	}
}

func (r *Relay) endPauses(ctx context.Context) error {
	err := r.store.EndRelayPauses(ctx)
	if err != nil && ctx.Err() == nil {
		r.log.WarnContext(ctx, "end relay pauses failed", slog.Any("error", err))
	}
	return err
}
