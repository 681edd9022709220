package reporter

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/event"
)

// Values of a heartbeat's status.
const (
	StatusRunning = "running"
	StatusWaiting = "waiting"
)

// Activity is the agent's current activity in heartbeats. An Activity is safe for concurrent use.
type Activity struct {
	mu     sync.Mutex
	status string
	tool   string
	since  time.Time
	turn   int

	changes   int64  // how often a tool was called or ended
	completed string // ID of the tool call that ended last
}

// SetStatus sets whether the agent runs or waits for messages.
func (a *Activity) SetStatus(status string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status = status
}

// SetTurn sets the number of the current turn.
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

// Tool sets the running tool; the returned function clears it.
func (a *Activity) Tool(name string) (done func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tool, a.since = name, time.Now()
	a.changes++
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.tool = ""
		a.changes++
	}
}

// Calls returns the number of starts and ends of tool calls, and the running tool; empty: none.
func (a *Activity) Calls() (changes int64, running string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.changes, a.tool
}

// Complete records the ID of a tool call that has ended.
func (a *Activity) Complete(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.completed = id
}

// Completed returns the ID of the last ended tool call; empty: none.
func (a *Activity) Completed() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.completed
}

// pass moves the start of the tool by the time in which this process, and so the tool, was frozen.
func (a *Activity) pass(stopped time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.since = a.since.Add(stopped); time.Since(a.since) < 0 {
		a.since = time.Now() // the tool started after the freeze
	}
}

func (a *Activity) data(now time.Time) map[string]any {
	a.mu.Lock()
	defer a.mu.Unlock()
	data := map[string]any{
		"timestamp": now.UTC(), "status": cmp.Or(a.status, StatusRunning), "turn": a.turn, "current_tool": nil, "tool_age_ms": nil,
	}
	if a.tool != "" {
		// Since uses the monotonic clock, so a changed wall clock does not change the age
		data["current_tool"], data["tool_age_ms"] = a.tool, time.Since(a.since).Milliseconds()
	}
	return data
}

// Beat emits a heartbeat immediately and then at each interval until ctx ends.
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
		if gap := time.Since(last); gap > 2*every { // this process was frozen
			doing.pass(gap - every)
		}
	}
}
