package ingest

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/task"
)

const (
	// maxEvents is the number of events in one transaction, plus or minus one request. More events do not make it
	// faster.
	maxEvents = 512
	// committers is the number of concurrent transactions with batches, in addition to those with single posts and with
	// large requests.
	committers = 2
	// commitTimeout bounds one transaction. Its senders keep their events and resend them.
	commitTimeout = 10 * time.Second
)

// IntakeConfig configures an Intake. All fields except Meter have a default.
type IntakeConfig struct {
	AllowBare   bool          // batches of unknown sandboxes create an unmanaged sandbox
	Queue       int           // waiting requests per lane, beyond which requests are rejected; default 4096
	Room        int64         // bytes of waiting events, in all, beyond which requests are rejected; default 64 MiB
	MaxBytes    int           // bytes of events in one transaction; default 1 MiB
	MaxBatch    int           // events in one batch; default 1000
	Quiet       time.Duration // delay until events other than milestones are relayed; default 60 s
	PulsePeriod time.Duration // default [HeartbeatInterval]
	Meter       IntakeMeter
}

// IntakeStore is the part of the store that Intake needs.
type IntakeStore interface {
	Pulse
	// CommitEvents stores the requests of many callers in one transaction and returns one outcome for each request, in
	// the same order. An error applies to the whole transaction: nothing was stored, or the outcome is unknown. It
	// wraps [ErrData] if the data of one request caused it.
	CommitEvents(ctx context.Context, c Commit) ([]Outcome, error)
}

// Commit is the content of one transaction.
type Commit struct {
	Requests []Request
	// Quiet is the maximum wait of events other than milestones for the relay.
	Quiet time.Duration
}

// Request is what one caller stores, all or nothing.
type Request struct {
	SandboxID string
	Events    []Event // validated
	SpoolID   string  // of a numbered batch; empty for a single post
	First     int64   // sequence of the first event of a batch
	Key       string  // of a single post; empty means that repeats are not deduplicated
	Bare      bool    // create an unmanaged sandbox for an unknown ID
}

// Outcome is the outcome of a [Request].
type Outcome struct {
	Err        error     // why the request was rejected; nothing else is set
	Sequence   int64     // of the newest event of the request
	CreatedAt  time.Time // of the newest event of the request
	Stored     int       // new events
	Duplicates int
	Mark       int64 // watermark of the batch's sender
	Late       bool
	Milestone  bool // a milestone is due to be relayed
	TaskID     string
}

// Intake stores events. It is safe for concurrent use.
type Intake struct {
	cfg   IntakeConfig
	store IntakeStore
	bus   Bus
	log   *slog.Logger
	lanes []chan *waiter // one for each committer
	loud  loud
	turn  Turn
	held  atomic.Int64 // bytes of events that wait or are being stored

	mu     sync.RWMutex
	closed bool
}

// waiter is a request that waits for its commit.
type waiter struct {
	request Request
	size    int          // bytes of its events
	loud    bool         // in the lane of large requests
	since   time.Time    // when it was queued
	outcome chan Outcome // buffered, so that the committer never waits for a caller that has returned
}

// NewIntake returns an Intake that stores nothing before [Intake.Run] is called.
func NewIntake(cfg IntakeConfig, store IntakeStore, bus Bus, log *slog.Logger) *Intake {
	cfg = cfg.withDefaults()
	i := &Intake{cfg: cfg, store: store, bus: bus, log: log}
	for range committers + 2 { // plus the lanes of single posts and of large requests
		i.lanes = append(i.lanes, make(chan *waiter, cfg.Queue))
	}
	return i
}

// Run stores events until ctx ends. Then it rejects new requests, stores those that wait and returns nil. Call Run
// once.
func (i *Intake) Run(ctx context.Context) error {
	var group sync.WaitGroup
	for _, lane := range i.lanes {
		group.Go(func() { i.work(context.WithoutCancel(ctx), lane) })
	}
	group.Go(func() { recordHeartbeats(ctx, i.store, PartIntake, i.cfg.PulsePeriod, i.log) })
	<-ctx.Done()
	i.close()
	group.Wait()
	return nil
}

// Single stores one event and returns after the commit. An unknown sandbox is [task.CodeNotFound], unless bare is set,
// which creates an unmanaged sandbox.
func (i *Intake) Single(ctx context.Context, sandboxID string, e Event, bare bool) (Receipt, error) {
	if err := checkName("sandbox_id", sandboxID, maxID); err != nil {
		return Receipt{}, err
	}
	key, err := keyOf(e)
	if err != nil {
		return Receipt{}, err
	}
	if e, err = i.checkOne(e); err != nil {
		return Receipt{}, err
	}
	out, err := i.submit(ctx, Request{SandboxID: sandboxID, Events: []Event{e}, Key: key, Bare: bare})
	if err != nil {
		return Receipt{}, err
	}
	return Receipt{
		EventID: EventID(sandboxID, out.Sequence), Sequence: out.Sequence, Duplicate: out.Stored == 0,
		Late: out.Late, CreatedAt: out.CreatedAt, TaskID: out.TaskID,
	}, nil
}

// Batch stores the events first, first+1, ... of a sender and returns after the commit. It skips stored events. Without
// events it returns the watermark.
func (i *Intake) Batch(ctx context.Context, sandboxID, spoolID string, first int64, events []Event) (BatchReceipt, error) {
	if err := checkName("sandbox_id", sandboxID, maxID); err != nil {
		return BatchReceipt{}, err
	}
	if err := checkName("spool_id", spoolID, maxID); err != nil {
		return BatchReceipt{}, err
	}
	if first < 1 {
		return BatchReceipt{}, task.Invalid("first", "Invalid first: event numbers begin with 1.")
	}
	events, err := i.checkAll(events)
	if err != nil {
		return BatchReceipt{}, err
	}
	out, err := i.submit(ctx, Request{
		SandboxID: sandboxID, Events: events, SpoolID: spoolID, First: first, Bare: i.cfg.AllowBare,
	})
	return BatchReceipt{Acknowledged: out.Mark, Duplicates: out.Duplicates}, err
}

func (i *Intake) checkOne(e Event) (Event, error) {
	defer i.turn.Take(len(e.Data))()
	return checkEvent("", e)
}

func (i *Intake) checkAll(events []Event) ([]Event, error) {
	defer i.turn.Take(sizeOf(events))()
	return checkBatch(events, i.cfg.MaxBatch)
}

// submit queues a request and waits for its outcome. If the caller returns early, the events may still be stored.
func (i *Intake) submit(ctx context.Context, r Request) (Outcome, error) {
	w := &waiter{request: r, size: sizeOf(r.Events), since: time.Now(), outcome: make(chan Outcome, 1)}
	if err := i.enqueue(w); err != nil {
		i.cfg.Meter.TurnedAway()
		return Outcome{}, err
	}
	select {
	case out := <-w.outcome:
		return out, out.Err
	case <-ctx.Done():
		return Outcome{}, ctx.Err()
	}
}

func (i *Intake) enqueue(w *waiter) error {
	i.mu.RLock()
	defer i.mu.RUnlock()
	if i.closed {
		return task.Errorf(task.CodeUnavailable, "The server is stopping. Next: send the request again in a second").WithKind(task.KindStopping)
	}
	if i.held.Add(int64(w.size)) <= i.cfg.Room {
		select {
		case i.lane(w) <- w:
			return nil
		default:
			i.loud.leaves(w)
		}
	}
	i.held.Add(-int64(w.size))
	return task.Errorf(task.CodeUnavailable, "Too many events are waiting. Next: send the request again in a second").WithKind(task.KindOverloaded)
}

// answer completes a request.
func (i *Intake) answer(w *waiter, out Outcome) {
	i.held.Add(-int64(w.size))
	i.loud.leaves(w)
	w.outcome <- out
}

// sizeOf returns the approximate memory of events in bytes.
func sizeOf(events []Event) int {
	const more = 100 // in addition to the data
	size := 0
	for _, e := range events {
		size += e.Size() + more
	}
	return size
}

func (i *Intake) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	for _, lane := range i.lanes {
		close(lane)
	}
}

func (i *Intake) work(ctx context.Context, lane <-chan *waiter) {
	for first := range lane {
		i.commit(ctx, i.collect(first, lane))
	}
}

// collect returns all waiting requests without waiting for more: requests accumulate during each commit.
func (i *Intake) collect(first *waiter, lane <-chan *waiter) []*waiter {
	taken, events, bytes := []*waiter{first}, len(first.request.Events), first.size
	for events < maxEvents && bytes < i.cfg.MaxBytes {
		select {
		case w, open := <-lane:
			if !open {
				return taken
			}
			taken, events, bytes = append(taken, w), events+len(w.request.Events), bytes+w.size
		default:
			return taken
		}
	}
	return taken
}

// commit stores the requests of all waiters. If the data of one request makes the transaction fail, it retries with
// each half, so that other requests succeed.
func (i *Intake) commit(ctx context.Context, all []*waiter) {
	began := time.Now()
	outcomes, err := i.try(ctx, all)
	switch {
	case err == nil:
		for n, w := range all {
			i.answer(w, outcomes[n])
		}
		i.wake(all, outcomes)
		i.measure(all, outcomes, began) // last, since no caller waits for it
	case errors.Is(err, ErrData) && len(all) > 1:
		half := len(all) / 2 //nolint:mnd // halves
		i.commit(ctx, all[:half])
		i.commit(ctx, all[half:])
	default:
		i.refuse(ctx, all, err)
	}
}

func (i *Intake) try(ctx context.Context, all []*waiter) ([]Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	c := Commit{Requests: make([]Request, len(all)), Quiet: i.cfg.Quiet}
	for n, w := range all {
		c.Requests[n] = w.request
	}
	return i.store.CommitEvents(ctx, c)
}

func (i *Intake) refuse(ctx context.Context, all []*waiter, err error) {
	switch {
	case errors.Is(err, ErrData):
		err = task.Invalid("event_data", "Cannot store event_data: the database rejects its JSON.").WithCause(err)
	case errors.Is(err, context.DeadlineExceeded):
		err = task.Errorf(task.CodeUnavailable, "The database did not answer in time. Next: send the request again in a second").WithKind(task.KindTimeout).WithCause(err)
	}
	i.cfg.Meter.Lost(len(all))
	i.log.WarnContext(ctx, "store events failed, senders retry", slog.Int("requests", len(all)), slog.Any("error", err))
	for _, w := range all {
		i.answer(w, Outcome{Err: err})
	}
}

// wake notifies the readers of each sandbox once, and the relay if a milestone is due.
func (i *Intake) wake(all []*waiter, outcomes []Outcome) {
	topics := make(map[string]struct{}, len(all))
	for n, out := range outcomes {
		if out.Stored == 0 {
			continue
		}
		topics[live.Sandbox(all[n].request.SandboxID)] = struct{}{}
		if out.TaskID != "" {
			topics[live.Task(out.TaskID)] = struct{}{}
		}
		if out.Milestone {
			topics[live.Relay] = struct{}{}
		}
	}
	for topic := range topics {
		i.bus.Wake(topic)
	}
}

func (c IntakeConfig) withDefaults() IntakeConfig {
	c.Queue = cmp.Or(c.Queue, 4096)
	c.Room = cmp.Or(c.Room, 64<<20)
	c.MaxBytes = cmp.Or(c.MaxBytes, 1<<20)
	c.MaxBatch = cmp.Or(c.MaxBatch, 1000)
	c.Quiet = cmp.Or(c.Quiet, time.Minute)
	c.PulsePeriod = cmp.Or(c.PulsePeriod, HeartbeatInterval)
	return c
}
