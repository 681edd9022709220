package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Goals of the p99 of acknowledged posts at half the top rate, as multiples of that of pgbench at the same rate.
const (
	goalSingleP99 = 1.5
	goalBatchP99  = 2.0
)

const (
	half = 0.5
	p50  = 0.5
	p99  = 0.99
)

// measureLatency posts at half the rates that were measured a moment ago, for long enough
// that a checkpoint is in it, and lets pgbench do the same beside it: how long a disk and a checkpoint take differs
// between machines.
func (p *eventSender) measureLatency(ctx context.Context, cfg Config, r *Report, t *replica, got map[string][]float64) error {
	singles, batches := median(got[singlePosts]), median(got[batchPosts])
	for _, of := range []struct {
		what, script string
		rate, goal   float64
		next         func(n int) func(time.Time) []byte
	}{
		{
			fmt.Sprintf("acknowledged post at half the top rate (%.0f/s)", half*singles), "single", half * singles,
			goalSingleP99, p.nextSingle,
		},
		{
			fmt.Sprintf("acknowledged batch of %d at half the top rate (%.0f events/s)", batchSize, half*batches), "rows",
			half * batches / batchSize, goalBatchP99, p.nextBatch,
		},
	} {
		ours, err := p.steady(ctx, cfg.Steady, of.rate, of.next)
		if err != nil {
			return fmt.Errorf("%s: %w", of.what, err)
		}
		theirs, err := t.steady(ctx, cfg.Steady, of.rate, of.script)
		if err != nil && !errors.Is(err, errNoPgbench) {
			return fmt.Errorf("%s: %w", of.what, err)
		}
		r.add(latencyRows(of.what, cfg.Steady, ours, theirs, of.goal)...)
		r.note("Latency: "+of.what, latencyNote, connections, latencies(ours), latencies(theirs))
	}
	return nil
}

const latencyNote = "Open loop: each post has a due time, and its latency is the time from then to its answer; %d connections. `CHECKPOINT` runs after half of the time. Posts: %s. `pgbench -R` at the same rate, with one transaction of as many rows for each post, over the same time and with the same checkpoint: %s."

// latencyRows are the ratio, which has a goal, and the figures it is of.
func latencyRows(what string, lasts time.Duration, ours, theirs []float64, goal float64) []Row {
	mine, other := quantile(ours, p99), quantile(theirs, p99)
	what += fmt.Sprintf(", p99 over %s with a checkpoint", lasts)
	row := Row{
		What: what + ", relative to pgbench -R", Goal: fmt.Sprintf("at most %.1f times", goal), Measured: "pgbench is not installed",
		Verdict: NotMeasured,
	}
	if other > 0 {
		row.Value = mine / other
		row.Measured, row.Verdict = fmt.Sprintf("%.2f times", row.Value), atMost(row.Value, goal)
	}
	return []Row{
		row,
		{What: what, Measured: fmt.Sprintf("%.1f ms", mine), Value: mine},
		{What: what + ", pgbench -R", Measured: fmt.Sprintf("%.1f ms", other), Value: other},
	}
}

// latencies tells how latencies lie.
func latencies(sorted []float64) string {
	return fmt.Sprintf("%d, median %.1f ms, p99 %.1f ms, longest %.0f ms", len(sorted), quantile(sorted, p50),
		quantile(sorted, p99), quantile(sorted, 1))
}

// steady posts at a rate into an empty table, with a checkpoint after half of the time.
func (p *eventSender) steady(
	ctx context.Context, lasts time.Duration, rate float64, next func(n int) func(time.Time) []byte,
) ([]float64, error) {
	if err := p.empty(ctx); err != nil {
		return nil, err
	}
	return withCheckpoint(ctx, p.pool, lasts, func(ctx context.Context) ([]float64, error) {
		return pace{rate: rate, lasts: lasts, next: next}.run(ctx, p.info.APIURL)
	})
}

// withCheckpoint forces a checkpoint after half of the time that run lasts.
func withCheckpoint(
	ctx context.Context, pool *pgxpool.Pool, lasts time.Duration, run func(context.Context) ([]float64, error),
) ([]float64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	made := make(chan error, 1)
	middle := time.Now().Add(lasts / 2) //nolint:mnd // the middle
	go func() { made <- checkpoint(ctx, pool, middle) }()
	took, err := run(ctx)
	if err != nil {
		return nil, err
	}
	return took, <-made
}

func checkpoint(ctx context.Context, pool *pgxpool.Pool, at time.Time) error {
	if !sleepUntil(ctx, at) {
		return ctx.Err()
	}
	if _, err := pool.Exec(ctx, `CHECKPOINT`); err != nil {
		return fmt.Errorf("force a checkpoint: %w", err)
	}
	return nil
}

// nextSingle and nextBatch make the requests of one connection.
func (p *eventSender) nextSingle(n int) func(time.Time) []byte {
	next := p.single(n)
	return func(time.Time) []byte { return next() }
}

func (p *eventSender) nextBatch(n int) func(time.Time) []byte {
	next := p.batch(n, 0)
	return func(time.Time) []byte { return next() }
}
