// Package reporter numbers the agent's events, stores them in the spool, and sends them to the API until it
// acknowledges them.
package reporter

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/apiclient"
	"github.com/omoi-dev/omoi/internal/agent/spool"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/redact"
	"github.com/omoi-dev/omoi/internal/wait"
)

// ErrGone is returned when the API answers that the sandbox is deleted.
var ErrGone = errors.New("the API reports this sandbox as deleted")

// Poster is the API client.
type Poster interface {
	Post(ctx context.Context, path string, body []byte, compress bool) (apiclient.Answer, error)
}

// Config configures a reporter. A zero duration or size means the default.
type Config struct {
	SandboxID string
	TaskID    string
	AgentID   string
	// Secrets removes secrets from every event; nil: none are known.
	Secrets *redact.Hider

	BatchEvents int           // maximum events in a batch; default 200
	Linger      time.Duration // minimum time between two batches without a milestone; default 20 ms
	MinBackoff  time.Duration // first wait after a failure; default 200 ms
	MaxBackoff  time.Duration // longest wait after consecutive failures; default 15 s
	SlowBackoff time.Duration // wait after a rejected credential; default 30 s

	Now func() time.Time // default time.Now
}

func (c Config) withDefaults() Config {
	c.BatchEvents = cmp.Or(max(c.BatchEvents, 0), 200)
	c.Linger = cmp.Or(max(c.Linger, 0), 20*time.Millisecond)
	c.MinBackoff = cmp.Or(max(c.MinBackoff, 0), 200*time.Millisecond)
	c.MaxBackoff = cmp.Or(max(c.MaxBackoff, 0), 15*time.Second)
	c.SlowBackoff = cmp.Or(max(c.SlowBackoff, 0), 30*time.Second)
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Reporter takes events from any goroutine; [Reporter.Run] sends them.
type Reporter struct {
	cfg   Config
	spool *spool.Spool
	post  Poster
	log   *slog.Logger

	wake   chan struct{} // there is an event to send
	urgent chan struct{} // there is a milestone: send immediately

	mu       sync.Mutex
	acked    chan struct{} // closed and replaced at each acknowledgement
	count    int64
	degraded bool
	over     error
}

// New returns a reporter that uses an open spool.
func New(cfg Config, sp *spool.Spool, post Poster, log *slog.Logger) *Reporter {
	return &Reporter{
		cfg: cfg.withDefaults(), spool: sp, post: post, log: log,
		wake: make(chan struct{}, 1), urgent: make(chan struct{}, 1), acked: make(chan struct{}),
	}
}

// Emit stores an event, and returns when the event is in the spool. If the spool is full, events that may be dropped
// are dropped and counted.
func (r *Reporter) Emit(eventType string, data map[string]any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	body, err := r.encode(eventType, data)
	if err != nil {
		r.log.Error("encode event failed, event dropped", slog.String("event_type", eventType), slog.Any("error", err))
		return
	}
	if dropped, _ := r.spool.Dropped(); dropped > 0 && r.spool.Room(len(body)+1024) {
		r.reportDropped()
	}
	r.append(eventType, body)
	r.watchDisk()
}

func (r *Reporter) append(eventType string, body []byte) {
	needed := event.Is(eventType, event.MustArrive)
	if _, err := r.spool.Append(body, needed); err != nil {
		r.spool.Drop(r.cfg.Now())
		r.log.Warn("event dropped", slog.String("event_type", eventType), slog.Any("error", err))
		return
	}
	r.count++
	wait.Notify(r.wake)
	if needed {
		wait.Notify(r.urgent)
	}
}

// watchDisk logs and reports the first failed write to the spool, and the first one after a success.
func (r *Reporter) watchDisk() {
	err, logged := r.spool.DiskError(), r.degraded
	r.degraded = err != nil
	if err == nil || logged {
		return
	}
	r.log.Error("write spool failed, keeping events in memory", slog.Any("error", err))
	if body, encErr := r.encode(event.AgentSpoolDegraded, map[string]any{"error": err.Error()}); encErr == nil {
		r.append(event.AgentSpoolDegraded, body)
	}
}

// reportDropped reports the number of dropped events, if any. reportDropped stores the event before it resets the
// count, so that after a death the count is reported twice rather than never.
func (r *Reporter) reportDropped() {
	count, since := r.spool.Dropped()
	if count == 0 {
		return
	}
	body, err := r.encode(event.AgentEventsDropped, map[string]any{"count": count, "since": since.UTC(), "reason": "spool_full"})
	if err != nil {
		return
	}
	r.append(event.AgentEventsDropped, body)
	r.spool.Told(count)
}

// Count returns the number of accepted events since the program started.
func (r *Reporter) Count() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}

// Flush waits until all earlier events are acknowledged. Flush returns ctx's error if ctx ends first, and [ErrGone] if
// the API accepts no more events.
func (r *Reporter) Flush(ctx context.Context) error {
	r.mu.Lock()
	r.reportDropped()
	r.mu.Unlock()
	wait.Notify(r.urgent)
	target := r.spool.Last()
	for {
		r.mu.Lock()
		changed, over := r.acked, r.over
		r.mu.Unlock()
		if r.spool.Acked() >= target {
			return nil
		}
		if over != nil {
			return over
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

func (r *Reporter) announce(over error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if over != nil {
		r.over = over
	}
	close(r.acked)
	r.acked = make(chan struct{})
}
