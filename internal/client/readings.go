package client

import (
	"context"
	"time"

	"github.com/omoi-dev/omoi/internal/spec"
)

// Integrity shows whether the events of a sandbox are 1..head, each once.
type Integrity struct {
	SandboxID string `json:"sandbox_id"`
	Head      int64  `json:"head"`                       // newest number
	Stored    int64  `json:"stored"`                     // rows
	Gapless   bool   `json:"gapless"`                    // 1..head are stored, each once, and nothing else
	Gaps      []Gap  `json:"gaps"      nullable:"false"` // at most 100
	Refused   int64  `json:"duplicates_refused"`
	Relayed   int64  `json:"relayed"` // 1..relayed are told to the workflow
	// Spools are the numbered senders, the first one first.
	Spools []SpoolWatermark `json:"spools" nullable:"false"`
}

// Gap is a stretch of missing numbers, both ends included.
type Gap struct {
	First int64 `json:"first"`
	Last  int64 `json:"last"`
}

// SpoolWatermark says that the numbers 1..Acknowledged of a sender are stored.
type SpoolWatermark struct {
	SpoolID      string `json:"spool_id"`
	Acknowledged int64  `json:"acknowledged"`
}

// EventCounts are the events of a sandbox by type.
type EventCounts struct {
	SandboxID  string           `json:"sandbox_id"`
	Total      int64            `json:"total"`
	Heartbeats int64            `json:"heartbeats"`
	Types      map[string]int64 `json:"types" nullable:"false"` // heartbeats too
}

// Activity is what is known of the life in a sandbox.
type Activity struct {
	SandboxID       string     `json:"sandbox_id" doc:"ID that omoi gave the sandbox."`
	LastWorkAt      *time.Time `json:"last_work_at" doc:"When the newest event that counts as work was stored. Null: none was."`
	LastHeartbeatAt *time.Time `json:"last_heartbeat_at" doc:"When the agent's newest heartbeat was stored. Null: none was."`
	HeartbeatStatus *string    `json:"heartbeat_status" doc:"Field status of that heartbeat, for example running. Null: none."`
	HasCompleted    bool       `json:"has_completed" doc:"True if the agent completed and has done no work since."`
	IsAlive         bool       `json:"is_alive" doc:"True if the agent sent a heartbeat within the last 2 minutes and the sandbox has not ended."`
	IsIdle          bool       `json:"is_idle" doc:"Legacy field: same value as is_stuck_running."`
	IsStuck         bool       `json:"is_stuck_running" doc:"True if is_alive, not has_completed, and no work for more than 15 minutes."`
	IdleSeconds     float64    `json:"idle_duration_seconds" doc:"Time since last_work_at. 0 if there was no work."`
}

// Life is what is known of an active sandbox: of the life in it, and of a run by phases.
type Life struct {
	Activity Activity
	Phases   spec.PhaseStatus
}

// Trajectory is the answer of GET /api/v1/sandboxes/{id}/trajectory, newest first.
type Trajectory struct {
	SandboxID        string           `json:"sandbox_id"`
	Events           []SandboxEvent   `json:"events" nullable:"false"`
	Heartbeats       HeartbeatSummary `json:"heartbeat_summary"` // of the whole sandbox
	TotalEvents      int64            `json:"total_events"`      // all that are stored, heartbeats too
	TrajectoryEvents int              `json:"trajectory_events"` // of this page
	NextCursor       *string          `json:"next_cursor"`       // goes on to older events; null unless has_more
	PrevCursor       *string          `json:"prev_cursor"`       // goes on to newer events
	HasMore          bool             `json:"has_more"`
}

// HeartbeatSummary is what the heartbeats of a sandbox amount to.
type HeartbeatSummary struct {
	Count int64      `json:"count"`
	First *time.Time `json:"first_heartbeat"`
	Last  *time.Time `json:"last_heartbeat"`
}

// PhaseReport is the answer of GET /api/v1/sandboxes/{id}/phase-status.
type PhaseReport struct {
	SandboxID string           `json:"sandbox_id"`
	Phases    spec.PhaseStatus `json:"phase_status"`
	Activity  Activity         `json:"activity"`
	Timestamp time.Time        `json:"timestamp"`
}

// Cleared is the answer of POST /api/v1/sandboxes/admin/clear-tracked-sandboxes.
type Cleared struct {
	Count   int    `json:"cleared_count"`
	Message string `json:"message"`
}

// StreamEvent is the data of one server-sent event of .../stream.
type StreamEvent Event

// EventCounts counts the events of a sandbox by type.
func (c *Client) EventCounts(ctx context.Context, sandboxID string) (EventCounts, error) {
	return answer[EventCounts](ctx, c, call{path: item("sandboxes", sandboxID, "counts")})
}

// EventFilter selects events of a sandbox. Zero values do not filter.
type EventFilter struct {
	Type  string
	Limit int // 1..500; 0 is 100
}

// NewestEvents lists the events of a sandbox, newest first.
func (c *Client) NewestEvents(ctx context.Context, sandboxID string, f EventFilter) (SandboxEvents, error) {
	q := query("event_type", f.Type, "limit", positive(f.Limit))
	return answer[SandboxEvents](ctx, c, call{path: item("sandboxes", sandboxID, "events"), query: q})
}

// SandboxesStatus lists the sandboxes in which agents are at work, with their activity.
func (c *Client) SandboxesStatus(ctx context.Context) (SandboxesStatus, error) {
	return answer[SandboxesStatus](ctx, c, call{path: prefix + "/sandboxes/monitoring/status"})
}

// Integrity says whether the events of a sandbox are 1..n, each once.
func (c *Client) Integrity(ctx context.Context, id string) (Integrity, error) {
	return answer[Integrity](ctx, c, call{path: item("sandboxes", id, "integrity")})
}
