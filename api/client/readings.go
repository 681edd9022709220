package client

import (
	"context"
	"time"

	"github.com/omoi-dev/omoi/internal/spec"
)

// Integrity shows whether the events of a sandbox are 1..last_sequence without gaps and duplicates.
type Integrity struct {
	SandboxID          string           `json:"sandbox_id" doc:"Sandbox whose events were counted."`
	LastSequence       int64            `json:"last_sequence" doc:"Last sequence: the highest number given to an event; 0: no event."`
	Stored             int64            `json:"stored" doc:"Number of stored events, heartbeats included."`
	Gapless            bool             `json:"gapless" doc:"true: each number from 1 to the last sequence is stored once, and no other."`
	Gaps               []Gap            `json:"gaps" nullable:"false" doc:"Ranges of missing numbers, ascending, at most 100; empty: no event is missing."`
	DuplicatesRejected int64            `json:"duplicates_rejected" doc:"Number of events that were sent again, and not stored a second time."`
	Relayed            int64            `json:"relayed" doc:"Highest sequence that the relay has forwarded to the task's workflow; 0: none."`
	Spools             []SpoolWatermark `json:"spools" nullable:"false" doc:"Watermarks of the spools that sent batches, the first spool first; empty: no batch."`
}

// Gap is a range of missing sequences, both ends included.
type Gap struct {
	First int64 `json:"first" doc:"Lowest missing number of the range."`
	Last  int64 `json:"last" doc:"Highest missing number of the range, included."`
}

// SpoolWatermark says that the sequences 1..Acknowledged of a spool are stored.
type SpoolWatermark struct {
	SpoolID      string `json:"spool_id" doc:"ID that the sender gave its spool."`
	Acknowledged int64  `json:"acknowledged" doc:"Watermark: the spool's events 1 to this number are stored."`
}

// EventCounts are the events of a sandbox by type.
type EventCounts struct {
	SandboxID  string           `json:"sandbox_id" doc:"Sandbox whose events were counted; an unknown one has none."`
	Total      int64            `json:"total" doc:"Number of stored events of all types."`
	Heartbeats int64            `json:"heartbeats" doc:"Number of stored heartbeats, of all heartbeat types."`
	Types      map[string]int64 `json:"types" nullable:"false" doc:"Number of stored events by event type, heartbeats included."`
}

// Activity is the activity of the agent in a sandbox.
type Activity struct {
	SandboxID       string     `json:"sandbox_id" doc:"ID that omoi gave the sandbox."`
	LastWorkAt      *time.Time `json:"last_work_at" doc:"When the newest event that counts as work was stored. Null: none was."`
	LastHeartbeatAt *time.Time `json:"last_heartbeat_at" doc:"When the agent's newest heartbeat was stored. Null: none was."`
	HeartbeatStatus *string    `json:"heartbeat_status" doc:"Field status of the agent's newest heartbeat, for example running. Null: none was."`
	HasCompleted    bool       `json:"has_completed" doc:"True if the agent completed and has done no work since."`
	IsAlive         bool       `json:"is_alive" doc:"True if the agent sent a heartbeat within the last 2 minutes and the sandbox has not ended."`
	IsIdle          bool       `json:"is_idle" doc:"Legacy field: same value as is_stuck_running."`
	IsStuck         bool       `json:"is_stuck_running" doc:"True if is_alive, not has_completed, and no work for more than 15 minutes."`
	IdleSeconds     float64    `json:"idle_duration_seconds" doc:"Time since last_work_at. 0 if there was no work."`
}

// Life is the activity of an active sandbox, and of a run by phases.
type Life struct {
	Activity Activity
	Phases   spec.PhaseStatus
}

// Trajectory is the response of GET /api/v1/sandboxes/{id}/trajectory, newest first.
type Trajectory struct {
	SandboxID        string           `json:"sandbox_id" doc:"Sandbox that the path names."`
	Events           []SandboxEvent   `json:"events" nullable:"false" doc:"Events of the page without heartbeats, newest first."`
	Heartbeats       HeartbeatSummary `json:"heartbeat_summary" doc:"Heartbeats of the whole sandbox, not of the page."`
	TotalEvents      int64            `json:"total_events" doc:"Number of stored events of the sandbox, heartbeats included."`
	TrajectoryEvents int              `json:"trajectory_events" doc:"Number of events of this page."`
	NextCursor       *string          `json:"next_cursor" doc:"Value of cursor for older events; null unless has_more."`
	PrevCursor       *string          `json:"prev_cursor" doc:"Value of cursor for newer events, with direction newer; never null."`
	HasMore          bool             `json:"has_more" doc:"true: more events follow in the direction of the request."`
}

// HeartbeatSummary sums up the heartbeats of a sandbox.
type HeartbeatSummary struct {
	Count int64      `json:"count" doc:"Number of stored heartbeats."`
	First *time.Time `json:"first_heartbeat" doc:"Time of the first stored heartbeat; null: none."`
	Last  *time.Time `json:"last_heartbeat" doc:"Time of the newest stored heartbeat; null: none."`
}

// PhaseReport is the response of GET /api/v1/sandboxes/{id}/phase-status.
type PhaseReport struct {
	SandboxID string           `json:"sandbox_id" doc:"Sandbox that the path names."`
	Phases    spec.PhaseStatus `json:"phase_status" doc:"Progress of the legacy spec execution in the sandbox."`
	Activity  Activity         `json:"activity" doc:"Activity of the agent in the sandbox."`
	Timestamp time.Time        `json:"timestamp" doc:"Server time of the answer, UTC."`
}

// ClearResult is the response of POST /api/v1/sandboxes/admin/clear-tracked-sandboxes.
type ClearResult struct {
	Count   int    `json:"cleared_count" doc:"Legacy: always 0, since no sandbox is tracked in memory."`
	Message string `json:"message" doc:"Sentence for users that says why nothing was cleared."`
}

// EventCounts returns the number of a sandbox's events by type.
func (c *Client) EventCounts(ctx context.Context, sandboxID string) (EventCounts, error) {
	return answer[EventCounts](ctx, c, call{path: item("sandboxes", sandboxID, "counts")})
}

// Event returns an event of a sandbox, by its ID or its sequence.
func (c *Client) Event(ctx context.Context, sandboxID, id string) (Event, error) {
	return answer[Event](ctx, c, call{path: item("sandboxes", sandboxID, "events", id)})
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

// SandboxesStatus lists the active sandboxes with their activity.
func (c *Client) SandboxesStatus(ctx context.Context) (SandboxesStatus, error) {
	return answer[SandboxesStatus](ctx, c, call{path: prefix + "/sandboxes/monitoring/status"})
}

// Integrity returns whether the events of a sandbox are 1..n without gaps and duplicates.
func (c *Client) Integrity(ctx context.Context, id string) (Integrity, error) {
	return answer[Integrity](ctx, c, call{path: item("sandboxes", id, "integrity")})
}
