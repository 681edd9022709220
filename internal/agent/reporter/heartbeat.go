package reporter

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/event"
)

// Words of a heartbeat's status.
const (
	StatusRunning = "running"
	StatusWaiting = "waiting"
)

// Activity is what the agent is doing now, told by heartbeats. It is safe for concurrent use.
type Activity struct {
	mu     sync.Mutex
	status string
	tool   string
	since  time.Time
	turn   int
}

// SetStatus tells whether the agent works or waits for messages.
func (a *Activity) SetStatus(status string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status = status
}

// SetTurn tells the number of the current turn.
func (a *Activity) SetTurn(turn int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.turn = turn
}

// Turn returns the number of the current turn.
func (a *Activity) Turn() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.turn
}

// Tool says that a tool call has begun; the returned function says that it is over.
func (a *Activity) Tool(name string) (done func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tool, a.since = name, time.Now()
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.tool = ""
	}
}

// pass makes the tool call younger by time in which this process was stopped, and so the tool too.
func (a *Activity) pass(stopped time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.since = a.since.Add(stopped); time.Since(a.since) < 0 {
		a.since = time.Now() // it began after the stop
	}
}

func (a *Activity) data(now time.Time) map[string]any {
	a.mu.Lock()
	defer a.mu.Unlock()
	data := map[string]any{
		"timestamp": now.UTC(), "status": cmp.Or(a.status, StatusRunning), "turn": a.turn, "current_tool": nil, "tool_age_ms": nil,
	}
	if a.tool != "" {
		// not from the field now, which is for display: a changed clock makes no tool older
		data["current_tool"], data["tool_age_ms"] = a.tool, time.Since(a.since).Milliseconds()
	}
	return data
}

// Beat emits a heartbeat at once and then at each interval until ctx ends.
func (r *Reporter) Beat(ctx context.Context, every time.Duration, doing *Activity) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for last := time.Now(); ; last = time.Now() {
		data := doing.data(r.cfg.Now())
		data["event_count"] = r.Count()
		r.Emit(event.AgentHeartbeat, data)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if gap := time.Since(last); gap > 2*every { // frozen, or nearly so
			doing.pass(gap - every)
		}
	}
}
