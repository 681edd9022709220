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
	// maxEvents is how many events one transaction takes, give or take one request: more make it no faster.
	maxEvents = 512
	// committers are the transactions with batches at a time, beside those with single posts and with large requests.
	committers = 2
	// commitTimeout bounds one transaction. Its senders keep their events, and send them again.
	commitTimeout = 10 * time.Second
)

// IntakeConfig is what the intake is told. Only Meter has no default.
type IntakeConfig struct {
	AllowBare   bool          // batches of unknown sandboxes make a bare row; single posts say it themselves
	Queue       int           // requests that may wait for each; beyond that they are turned away; default 4096
	Room        int64         // bytes of events that may wait, in all; likewise; default 64 MiB
	MaxBytes    int           // likewise; default 1 MiB, so that nobody waits long for the data of others
	MaxBatch    int           // events in one batch; default 1000
	Quiet       time.Duration // until events that are no milestones are relayed; default 60 s
	PulsePeriod time.Duration // default [HeartbeatInterval]
	Meter       IntakeMeter
}

// IntakeStore is the part of the store that the intake needs.
type IntakeStore interface {
	Pulse
	// CommitEvents stores what many callers sent in one transaction and returns one outcome for each request, in their order.
	// An error is about the whole transaction, of which nothing was stored, or nothing is known; it carries
	// [ErrData] if the data of one request caused it.
	CommitEvents(ctx context.Context, c Commit) ([]Outcome, error)
}

// Commit is what one transaction is to store.
type Commit struct {
	Requests []Request
	// Quiet is how long events that are no milestones may wait for the relay.
	Quiet time.Duration
}

// Request is what one caller wants to be stored, whole or not at all.
type Request struct {
	SandboxID string
	Events    []Event // checked
	SpoolID   string  // of a numbered batch; empty for a single post
	First     int64   // number of the first event of a batch
	Key       string  // of a single post; empty means that repeats are not noticed
	Bare      bool    // make a bare row for an unknown sandbox
}

// Outcome is what became of a [Request].
type Outcome struct {
	Err        error     // the request was refused; nothing else is set
	Sequence   int64     // of the newest event of the request
	CreatedAt  time.Time // likewise
	Stored     int       // new events
	Duplicates int
	Mark       int64 // of the batch's sender
	Late       bool
	Milestone  bool // a milestone is to be relayed
	TaskID     string
}

// Intake takes events in. It is safe for concurrent use.
type Intake struct {
	cfg   IntakeConfig
	store IntakeStore
	bus   Bus
	log   *slog.Logger
	lanes []chan *waiter // a committer each
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
	loud    bool         // it waits with the large requests
	since   time.Time    // when it was queued
	outcome chan Outcome // of one, so that the committer never waits for a caller that left
}

// NewIntake makes an intake that stores nothing before [Intake.Run] is called.
func NewIntake(cfg IntakeConfig, store IntakeStore, bus Bus, log *slog.Logger) *Intake {
	cfg = cfg.withDefaults()
	i := &Intake{cfg: cfg, store: store, bus: bus, log: log}
	for range committers + 2 { // those of single posts and of large requests
		i.lanes = append(i.lanes, make(chan *waiter, cfg.Queue))
	}
	return i
}

// Run stores what is sent until ctx ends; then it turns new requests away, stores those
// that wait and returns nil. It is called once.
func (i *Intake) Run(ctx context.Context) error {
	var group sync.WaitGroup
	for _, lane := range i.lanes {
		group.Go(func() { i.work(context.WithoutCancel(ctx), lane) })
	}
	group.Go(func() { beat(ctx, i.store, PartIntake, i.cfg.PulsePeriod, i.log) })
	<-ctx.Done()
	i.close()
	group.Wait()
	return nil
}

// Single stores one event and answers after it is committed. bare makes a row for an
// unknown sandbox; without it such a sandbox is [task.CodeNotFound].
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

// Batch stores the events first, first+1, ... of a sender and answers after they are
// committed. What was stored before is skipped. Without events it asks for the mark.
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

// submit queues a request and waits for its outcome. A caller that leaves early learns
// nothing, though its events may be stored.
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

// answer lets go of a request.
func (i *Intake) answer(w *waiter, out Outcome) {
	i.held.Add(-int64(w.size))
	i.loud.leaves(w)
	w.outcome <- out
}

// sizeOf is about how much memory events take.
func sizeOf(events []Event) int {
	const more = 100 // beside the data
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

// collect takes all that waits, without waiting for more: while one commit is under way
// the next one's requests gather by themselves.
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

// commit stores the requests of all waiters. Where the data of one is at fault it tries
// the halves, so that strangers do not suffer.
func (i *Intake) commit(ctx context.Context, all []*waiter) {
	began := time.Now()
	outcomes, err := i.try(ctx, all)
	switch {
	case err == nil:
		for n, w := range all {
			i.answer(w, outcomes[n])
		}
		i.wake(all, outcomes)
		i.measure(all, outcomes, began) // last: nobody waits for it
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
	i.log.WarnContext(ctx, "store events failed", slog.Int("requests", len(all)), slog.Any("error", err))
	for _, w := range all {
		i.answer(w, Outcome{Err: err})
	}
}

// wake tells the readers of each sandbox once, and the relay if it has something urgent.
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
