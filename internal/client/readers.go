package client

import (
	"time"

	"github.com/omoi-dev/omoi/internal/spec"
)

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
