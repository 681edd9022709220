package ingest

import (
	"cmp"
	"context"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// callTimeout bounds one call to Temporal.
const callTimeout = 5 * time.Second

// RelayConfig configures a Relay. Durations, Workers and Pace have defaults.
type RelayConfig struct {
	Workers     int           // concurrent tasks; default 8
	Poll        time.Duration // default [PollInterval]
	FirstPause  time.Duration // pause after a failure, doubled each time; default 200 ms
	MaxPause    time.Duration // longest pause, ended when Temporal responds after an outage; default 30 s
	MaxHold     time.Duration // longest pause of a retry that waits for the previous run; default 2 s
	CleanupWait time.Duration // longest wait of a retry for the previous sandbox; default 2 min
	SweepPeriod time.Duration // default 1 min
	PulsePeriod time.Duration // default [HeartbeatInterval]
	Pace        Pace
	// Claimed is closed once the namespace of Temporal is known to be this installation's, and its search attributes are
	// registered. Nothing is sent before. Nil: it is known already.
	Claimed <-chan struct{}
	// Scrub removes secrets from a title before it is sent.
	Scrub func(string) string
	Meter RelayMeter
	// Resume continues the trace of a traceparent.
	Resume func(ctx context.Context, traceparent string) context.Context
}

// Relay sends accepted commands and events to workflows. Any number of processes may run a relay.
type Relay struct {
	cfg   RelayConfig
	store RelayStore
	runs  Runs
	bus   Bus
	log   *slog.Logger
	id    string // of this process
	count atomic.Int64
	woken atomic.Int64 // number of notifications
	// doubted is set when a call to Temporal failed; returns counts the ended outages of Temporal.
	doubted atomic.Bool
	returns atomic.Int64
}

// NewRelay returns a relay that sends nothing before [Relay.Run] is called.
func NewRelay(cfg RelayConfig, store RelayStore, runs Runs, bus Bus, log *slog.Logger) *Relay {
	return &Relay{cfg: cfg.withDefaults(), store: store, runs: runs, bus: bus, log: log, id: task.NewID()}
}

// Run sends what is due until ctx ends. Then it finishes what it has begun and returns nil.
func (r *Relay) Run(ctx context.Context) error {
	wake := make(chan struct{}, 1)
	stir := func() {
		r.woken.Add(1)
		wait.Notify(wake)
	}
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { recordHeartbeats(ctx, r.store, PartRelay, r.cfg.PulsePeriod, r.log) })
	group.Go(func() { r.listen(ctx, stir) })
	group.Go(func() { r.follow(ctx, stir) })
	group.Go(func() { r.sweep(ctx) })
	group.Go(func() { r.watchTemporal(ctx) })
	if r.claimed(ctx) {
		r.dispatch(ctx, wake)
	}
	return nil
}

// claimed waits until the namespace is claimed, and returns false if ctx ends before.
func (r *Relay) claimed(ctx context.Context) bool {
	if r.cfg.Claimed == nil {
		return true
	}
	select {
	case <-r.cfg.Claimed:
		return true
	case <-ctx.Done():
		return false
	}
}

// dispatch leases due tasks and gives them to workers, never more than there are workers.
func (r *Relay) dispatch(ctx context.Context, wake chan struct{}) {
	slots := make(chan struct{}, r.cfg.Workers)
	var group sync.WaitGroup
	defer group.Wait()
	tick := time.NewTicker(r.cfg.Poll)
	defer tick.Stop()
	for ctx.Err() == nil {
		free, woken := cap(slots)-len(slots), r.woken.Load()
		for _, unit := range r.lease(ctx, free) {
			slots <- struct{}{}
			group.Go(func() {
				again := r.serve(context.WithoutCancel(ctx), unit)
				full := len(slots) == cap(slots)
				<-slots
				// Tasks without a worker may be due. A notification for a task that was being returned is neither seen
				// by that return nor by the query that the notification caused.
				if again || full || r.woken.Load() != woken {
					wait.Notify(wake)
				}
			})
		}
		select {
		case <-ctx.Done():
		case <-wake:
		case <-tick.C:
		}
	}
}

func (r *Relay) lease(ctx context.Context, limit int) []Unit {
	if limit == 0 {
		return nil
	}
	owner := r.id + "/" + strconv.FormatInt(r.count.Add(1), 10)
	units, err := r.store.LeaseRelays(ctx, owner, limit, r.cfg.Pace)
	if err != nil && ctx.Err() == nil {
		r.cfg.Meter.Failed(whatStore)
		r.log.WarnContext(ctx, "list due relay rows failed, retrying", slog.Any("error", err))
	}
	return units
}

// listen subscribes to notifications of the database.
func (r *Relay) listen(ctx context.Context, wake func()) {
	for ctx.Err() == nil {
		if err := r.store.ListenRelays(ctx, wake); err != nil && ctx.Err() == nil {
			r.log.WarnContext(ctx, "listen for relay notifications failed, retrying", slog.Any("error", err))
		}
		_ = wait.For(ctx, r.cfg.Poll)
	}
}

// follow subscribes to the live bus.
func (r *Relay) follow(ctx context.Context, wake func()) {
	news, leave := r.bus.Subscribe(live.Relay)
	defer leave()
	for {
		select {
		case <-ctx.Done():
			return
		case <-news:
			wake()
		}
	}
}

func (r *Relay) sweep(ctx context.Context) {
	for wait.For(ctx, r.cfg.SweepPeriod) == nil {
		if err := r.store.SweepEvents(ctx); err != nil && ctx.Err() == nil {
			r.log.WarnContext(ctx, "sweep events failed, retrying", slog.Any("error", err))
		}
	}
}

// serve sends what is due for one task and returns it. It stops before its lease expires.
func (r *Relay) serve(ctx context.Context, u Unit) (again bool) {
	const share = 0.7
	limited, cancel := context.WithTimeout(ctx, time.Duration(share*float64(r.cfg.Pace.Lease)))
	defer cancel()
	d, returns := delivery{relay: r, unit: u}, r.returns.Load()
	if d.send(limited); d.stranded {
		return false
	}
	ctx, cancel = context.WithTimeout(ctx, callTimeout)
	defer cancel()
	again, err := r.store.SettleRelay(ctx, u, d.settled, r.cfg.Pace)
	if err != nil { // the lease expires, and the task is due again
		r.log.WarnContext(ctx, "release relay lease failed, waiting until it expires", slog.String("task_id", u.TaskID), slog.Any("error", err))
	}
	if d.missed {
		r.missed(ctx, returns)
	}
	return again
}

func (c RelayConfig) withDefaults() RelayConfig {
	c.Workers = cmp.Or(c.Workers, 8)
	c.Poll = cmp.Or(c.Poll, PollInterval)
	c.FirstPause = cmp.Or(c.FirstPause, 200*time.Millisecond)
	c.MaxPause = cmp.Or(c.MaxPause, 30*time.Second)
	c.MaxHold = cmp.Or(c.MaxHold, 2*time.Second)
	c.CleanupWait = cmp.Or(c.CleanupWait, 2*time.Minute)
	c.SweepPeriod = cmp.Or(c.SweepPeriod, time.Minute)
	c.PulsePeriod = cmp.Or(c.PulsePeriod, HeartbeatInterval)
	c.Pace = c.Pace.withDefaults()
	return c
}

func (p Pace) withDefaults() Pace {
	p.Lease = cmp.Or(p.Lease, 30*time.Second)
	p.Burst = cmp.Or(p.Burst, 3)
	p.Rate = cmp.Or(p.Rate, 1)
	p.Many = cmp.Or(p.Many, 300)
	p.Window = cmp.Or(p.Window, 10*time.Minute)
	p.Slow = cmp.Or(p.Slow, 10*time.Second)
	return p
}

// watchTemporal ends the pauses of all tasks when Temporal responds after an outage: a growing pause is for a task that
// fails alone. The first response counts too, since the previous process may have ended during an outage.
func (r *Relay) watchTemporal(ctx context.Context) {
	for away := true; wait.For(ctx, r.cfg.Poll) == nil; {
		away = r.isAway(ctx, away)
	}
}

// isAway reports whether Temporal does not respond. While calls succeed, Temporal is not checked.
func (r *Relay) isAway(ctx context.Context, before bool) bool {
	if !r.doubted.Swap(false) && !before {
		return false
	}
	limited, cancel := context.WithTimeout(ctx, callTimeout)
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

// missed records that a call to Temporal failed, after its task was returned; returns is the number of ended outages
// when the call began. If an outage ended meanwhile, the pause of the task began after those of the others were ended.
func (r *Relay) missed(ctx context.Context, returns int64) {
	r.doubted.Store(true)
	if r.returns.Load() != returns {
		_ = r.endPauses(ctx) // which logs the reason; the pause ends by itself
	}
}

func (r *Relay) endPauses(ctx context.Context) error {
	err := r.store.EndRelayPauses(ctx)
	if err != nil && ctx.Err() == nil {
		r.log.WarnContext(ctx, "end relay pauses failed, they end by themselves", slog.Any("error", err))
	}
	return err
}
