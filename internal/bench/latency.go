package bench

import (
	"context"
	"fmt"
	"time"
)

// goalPost is the p99 of an acknowledged post at half the top rate, in milliseconds.
const goalPost = 25

const (
	half = 0.5
	p50  = 0.5
	p99  = 0.99
)

// measureLatency posts at half the rates that were measured a moment ago, for long enough
// that a checkpoint is in it.
func (p *poster) measureLatency(ctx context.Context, cfg Config, r *Report, singles, batches float64) error {
	single, err := p.steady(ctx, cfg.Steady, half*singles, p.nextSingle)
	if err != nil {
		return fmt.Errorf("single posts at half rate: %w", err)
	}
	batch, err := p.steady(ctx, cfg.Steady, half*batches/batchSize, p.nextBatch)
	if err != nil {
		return fmt.Errorf("batches at half rate: %w", err)
	}
	r.add(
		latencyRow(fmt.Sprintf("acknowledged post at half the top rate (%.0f/s), p99 over %s with a checkpoint", half*singles, cfg.Steady), single),
		latencyRow(fmt.Sprintf("acknowledged batch of %d at half the top rate (%.0f events/s), likewise", batchSize, half*batches), batch),
	)
	r.note("Latency of posts", "Open loop: each post has a time at which it is due, and its latency counts from then to its answer; %d connections. `CHECKPOINT` is forced after half of the time. Single posts: %s. Batches: %s.",
		connections, latencies(single), latencies(batch))
	return nil
}

func latencyRow(what string, took []float64) Row {
	value := quantile(took, p99)
	return Row{What: what, Goal: fmt.Sprintf("at most %d ms", goalPost), Measured: fmt.Sprintf("%.1f ms", value), Value: value, Verdict: atMost(value, goalPost)}
}

// latencies tells how latencies lie.
func latencies(sorted []float64) string {
	return fmt.Sprintf("%d, median %.1f ms, p99 %.1f ms, longest %.0f ms", len(sorted), quantile(sorted, p50), quantile(sorted, p99), quantile(sorted, 1))
}

// steady posts at a rate into an empty table, with a checkpoint after half of the time.
func (p *poster) steady(ctx context.Context, lasts time.Duration, rate float64, next func(n int) func(time.Time) []byte) ([]float64, error) {
	if err := p.empty(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	made := make(chan error, 1)
	middle := time.Now().Add(lasts / 2) //nolint:mnd // the middle
	go func() { made <- p.checkpoint(ctx, middle) }()
	took, err := pace{rate: rate, lasts: lasts, next: next}.run(ctx, p.info.APIURL)
	if err != nil {
		return nil, err
	}
	return took, <-made
}

func (p *poster) checkpoint(ctx context.Context, at time.Time) error {
	if !sleepUntil(ctx, at) {
		return ctx.Err()
	}
	if _, err := p.pool.Exec(ctx, `CHECKPOINT`); err != nil {
		return fmt.Errorf("force a checkpoint: %w", err)
	}
	return nil
}

// nextSingle and nextBatch make the requests of one connection.
func (p *poster) nextSingle(n int) func(time.Time) []byte {
	next := p.single(n)
	return func(time.Time) []byte { return next() }
}

func (p *poster) nextBatch(n int) func(time.Time) []byte {
	next := p.batch(n, 0)
	return func(time.Time) []byte { return next() }
}
