package client

import (
	"encoding/json"
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// The types below keep the form of OmoiOS.

// ReceivedEvent is the response of POST /api/v1/sandboxes/{id}/events.
type ReceivedEvent struct {
	Status    string    `json:"status" enum:"received" doc:"Always received: the event is stored. More values may be added."`
	SandboxID string    `json:"sandbox_id" doc:"Sandbox that the path names."`
	EventType string    `json:"event_type" doc:"Same value as in the request."`
	EventID   *string   `json:"event_id" doc:"ID of the stored event: sandbox ID, colon, sequence. A duplicate gets the ID of the first; never null."`
	Timestamp time.Time `json:"timestamp" doc:"Server time of the answer, UTC."`
}

// SandboxEvent is one element of [SandboxEvents].
type SandboxEvent struct {
	ID        string          `json:"id" doc:"Event ID: sandbox ID, colon, sequence."`
	SandboxID string          `json:"sandbox_id" doc:"Sandbox that reported the event."`
	EventType string          `json:"event_type" doc:"Event type, for example agent.tool_use; unknown types are stored too."`
	EventData json.RawMessage `json:"event_data"`
	Source    string          `json:"source" enum:"agent,worker,system" doc:"Sender of the event: the agent, its supervisor (worker), or the server (system). More values may be added."`
	CreatedAt time.Time       `json:"created_at" doc:"When the server stored the event."`
	Omitted   []string        `json:"omitted,omitempty" nullable:"false" doc:"Large fields that event_data lacks, * for all: GET .../events/{event_id} returns them. Absent: none."`
}

// SandboxEvents is the response of GET /api/v1/sandboxes/{id}/events, newest first.
type SandboxEvents struct {
	Events     []SandboxEvent `json:"events" nullable:"false" doc:"Events of the page, newest first."`
	TotalCount int64          `json:"total_count" doc:"Number of stored events that match event_type, on all pages."`
	SandboxID  string         `json:"sandbox_id" doc:"Sandbox that the path names."`
	NextCursor *string        `json:"next_cursor,omitempty" doc:"Value of cursor for older events; absent: this is the last page."`
}

// AcknowledgedMessage is the response of POST /api/v1/sandboxes/{id}/messages/{message}/ack.
type AcknowledgedMessage struct {
	Status    string `json:"status" enum:"acknowledged" doc:"Always acknowledged; see settled. More values may be added."`
	MessageID string `json:"message_id" doc:"Message that the path names."`
	Settled   bool   `json:"settled" doc:"true: the message is the caller's to use. false: another consumer has it, it expired, or it is not of this sandbox."`
}

// SandboxTask is the response of GET /api/v1/sandboxes/{id}/task.
type SandboxTask struct {
	ID              string     `json:"id" doc:"UUID of the task."`
	TicketID        string     `json:"ticket_id" doc:"Ticket that the task belongs to."`
	PhaseID         string     `json:"phase_id" doc:"Legacy phase of the task, for example PHASE_IMPLEMENTATION."`
	TaskType        string     `json:"task_type" doc:"Kind of task as its creator named it, for example implementation."`
	Title           string     `json:"title" doc:"Title of the task, up to 500 characters."`
	Description     string     `json:"description" doc:"What the agent is to do; may be empty."`
	Priority        string     `json:"priority" enum:"CRITICAL,HIGH,MEDIUM,LOW" doc:"Importance of the task in the queue. More values may be added."`
	Status          string     `json:"status" enum:"pending,assigned,running,pending_validation,validating,needs_revision,completed,failed,cancelled" doc:"Current status of the task. More values may be added."`
	SandboxID       string     `json:"sandbox_id" doc:"Sandbox of the path; the newest attempt of the task may run in another."`
	AssignedAgentID *string    `json:"assigned_agent_id" doc:"ID that the agent reported when it started; null: none."`
	CreatedAt       time.Time  `json:"created_at" doc:"When the task was created."`
	UpdatedAt       time.Time  `json:"updated_at" doc:"When the task last changed."`
	StartedAt       *time.Time `json:"started_at" doc:"When the task first became running; null: never."`
	CompletedAt     *time.Time `json:"completed_at" doc:"When the task ended, whatever its status; null: not ended."`
	// Feedback of the last verdict.
	RevisionFeedback        string   `json:"revision_feedback" doc:"What the last validation missed; empty: it passed, or there was none."`
	RevisionRecommendations []string `json:"revision_recommendations" nullable:"false" doc:"Recommendations of the last failed validation; empty: none."`
}

// TaskComplete is the body of POST /api/v1/sandboxes/{id}/task-complete.
type TaskComplete struct {
	TaskID       string          `json:"task_id" doc:"UUID or key of the task of this sandbox: 404 if unknown, 403 if the task belongs to another sandbox."`
	Success      *bool           `json:"success,omitempty" default:"true" doc:"true completes the task, false fails it; default true."`
	Result       json.RawMessage `json:"result,omitempty" doc:"Result of the task: an object, or null for none."`
	ErrorMessage string          `json:"error_message,omitempty" doc:"Why the task failed; used only with success false."`
}

// TaskCompleted is the response to [TaskComplete].
type TaskCompleted struct {
	Status         string       `json:"status" enum:"accepted" doc:"Always accepted; see receipt. More values may be added."`
	TaskID         string       `json:"task_id" doc:"Task that the request names."`
	NewStatus      string       `json:"new_status" doc:"Status of the task after the command; unchanged if the receipt is too_late."`
	UnblockedTasks []string     `json:"unblocked_tasks" nullable:"false" doc:"UUIDs of the tasks that waited only for this one; empty: none."`
	CommandID      string       `json:"command_id" doc:"Command that carries the completion, for GET /api/v1/commands/{id}."`
	Receipt        task.Receipt `json:"receipt" doc:"Command receipt; too_late: the task had already ended."`
}

// Verdict is the body of POST /api/v1/sandboxes/{id}/validation-result.
type Verdict struct {
	TaskID          string          `json:"task_id" doc:"UUID or key of the task that the validator judged."`
	Passed          *bool           `json:"passed" nullable:"false" doc:"true: the work passed. false: another revision is needed."`
	Feedback        *string         `json:"feedback" nullable:"false" doc:"What is missing or wrong, for the next attempt; may be empty."`
	Evidence        json.RawMessage `json:"evidence,omitempty" doc:"What shows the verdict, an object of the validator's own; default none."`
	Recommendations []string        `json:"recommendations,omitempty" doc:"Advice for the next attempt, one step each; default none."`
}

// VerdictAccepted is the response to [Verdict].
type VerdictAccepted struct {
	Status           string       `json:"status" enum:"accepted" doc:"Always accepted; see receipt. More values may be added."`
	TaskID           string       `json:"task_id" doc:"Task that the request names."`
	ValidationPassed bool         `json:"validation_passed" doc:"Value of passed in the request."`
	NewTaskStatus    string       `json:"new_task_status" doc:"Status of the task after the command; unchanged if the receipt is too_late."`
	CommandID        string       `json:"command_id" doc:"Command that carries the verdict, for GET /api/v1/commands/{id}."`
	Receipt          task.Receipt `json:"receipt" doc:"Command receipt; too_late: the task had already ended."`
}

// SandboxHealth is the response of GET /api/v1/sandboxes/health.
type SandboxHealth struct {
	Status    string    `json:"status" enum:"ok" doc:"Always ok: no dependency is checked. More values may be added."`
	Service   string    `json:"service" doc:"Legacy name of the service: always sandbox-api."`
	Timestamp time.Time `json:"timestamp" doc:"Server time of the answer, UTC."`
}
