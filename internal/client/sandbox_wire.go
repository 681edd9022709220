package client

import (
	"encoding/json"
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// The shapes below keep the wire form of the system that omoi replaces.

// ReceivedEvent is the answer of POST /api/v1/sandboxes/{id}/events.
type ReceivedEvent struct {
	Status    string    `json:"status"` // received
	SandboxID string    `json:"sandbox_id"`
	EventType string    `json:"event_type"`
	EventID   *string   `json:"event_id"`
	Timestamp time.Time `json:"timestamp"`
}

// SandboxEvent is one element of [SandboxEvents].
type SandboxEvent struct {
	ID        string          `json:"id"`
	SandboxID string          `json:"sandbox_id"`
	EventType string          `json:"event_type"`
	EventData json.RawMessage `json:"event_data"`
	Source    string          `json:"source"`
	CreatedAt time.Time       `json:"created_at"`
	// Omitted names the large fields that event_data lacks; "*" is all of them. The event's own
	// address has them.
	Omitted []string `json:"omitted,omitempty"`
}

// SandboxEvents is the answer of GET /api/v1/sandboxes/{id}/events, newest first.
type SandboxEvents struct {
	Events     []SandboxEvent `json:"events" nullable:"false"`
	TotalCount int64          `json:"total_count"` // of the filter, before paging
	SandboxID  string         `json:"sandbox_id"`
	NextCursor *string        `json:"next_cursor,omitempty"` // goes on to older events; absent at the end
}

// AckedMessage is the answer of POST /api/v1/sandboxes/{id}/messages/{message}/ack.
type AckedMessage struct {
	Status    string `json:"status"` // acknowledged
	MessageID string `json:"message_id"`
	Settled   bool   `json:"settled"` // the caller has won it; false: somebody else has, it has expired, or is not of this sandbox
}

// SandboxTask is the answer of GET /api/v1/sandboxes/{id}/task.
type SandboxTask struct {
	ID              string     `json:"id"`
	TicketID        string     `json:"ticket_id"`
	PhaseID         string     `json:"phase_id"`
	TaskType        string     `json:"task_type"`
	Title           string     `json:"title"`
	Description     string     `json:"description"`
	Priority        string     `json:"priority"`
	Status          string     `json:"status"`
	SandboxID       string     `json:"sandbox_id"`
	AssignedAgentID *string    `json:"assigned_agent_id"`
	CreatedAt       time.Time  `json:"created_at"`
	UpdatedAt       time.Time  `json:"updated_at"`
	StartedAt       *time.Time `json:"started_at"`
	CompletedAt     *time.Time `json:"completed_at"`
	// What the last verdict missed; empty if it passed or there was none.
	RevisionFeedback        string   `json:"revision_feedback"`
	RevisionRecommendations []string `json:"revision_recommendations" nullable:"false"`
}

// TaskComplete is the body of POST /api/v1/sandboxes/{id}/task-complete.
type TaskComplete struct {
	TaskID       string          `json:"task_id"`
	Success      *bool           `json:"success,omitempty" default:"true"`
	Result       json.RawMessage `json:"result,omitempty" doc:"An object, or null"`
	ErrorMessage string          `json:"error_message,omitempty"`
}

// TaskCompleted is its answer.
type TaskCompleted struct {
	Status         string       `json:"status"` // accepted
	TaskID         string       `json:"task_id"`
	NewStatus      string       `json:"new_status"`
	UnblockedTasks []string     `json:"unblocked_tasks" nullable:"false"`
	CommandID      string       `json:"command_id"`
	Receipt        task.Receipt `json:"receipt"` // too_late: the status is that of before
}

// Verdict is the body of POST /api/v1/sandboxes/{id}/validation-result.
type Verdict struct {
	TaskID          string          `json:"task_id"`
	Passed          *bool           `json:"passed" nullable:"false"`
	Feedback        *string         `json:"feedback" nullable:"false"`
	Evidence        json.RawMessage `json:"evidence,omitempty"`
	Recommendations []string        `json:"recommendations,omitempty"`
}

// VerdictAccepted is its answer.
type VerdictAccepted struct {
	Status           string       `json:"status"` // accepted
	TaskID           string       `json:"task_id"`
	ValidationPassed bool         `json:"validation_passed"`
	NewTaskStatus    string       `json:"new_task_status"`
	CommandID        string       `json:"command_id"`
	Receipt          task.Receipt `json:"receipt"` // too_late: the status is that of before
}

// SandboxHealth is the answer of GET /api/v1/sandboxes/health.
type SandboxHealth struct {
	Status    string    `json:"status"` // ok
	Service   string    `json:"service"`
	Timestamp time.Time `json:"timestamp"`
}
