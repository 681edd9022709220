package task

import (
	"context"
	"encoding/json"
	"time"
)

// NewTask is an accepted task: complete, validated, and not yet stored.
type NewTask struct {
	OrganizationID string
	UserID         string // user of the task; empty: none
	// At least one of the three says where the task belongs. The first that is not empty counts.
	TicketID  string
	ProjectID string
	Repo      string
	// Ticket is created if TicketID is empty.
	Ticket NewTicket

	Title       string
	Description string
	TaskType    string
	PhaseID     string
	Priority    string
	Mode        string
	Agent       string
	Provider    string
	Continuous  bool
	MaxRetries  int
	DeadlineAt  *time.Time
	Validation  NewValidation
	DependsOn   []string
	Budget      Budget
	Execution   json.RawMessage // JSON object
	Contract    json.RawMessage // task contract, a JSON object; nil: that of Execution
	Base        string          // commit at which the branch starts; empty: the head of the base branch when the task starts

	Sender string // creator of the task, for the receipt
	Trace  string // W3C traceparent of the request; empty: not traced
	// IdempotencyKey with the same BodyHash returns the existing task; empty: creates a new task each time.
	IdempotencyKey string
	BodyHash       []byte
	ProjectSlots   int // concurrency limit of a project that has to be created
	// Fork is the checkpoint with which the task begins; nil: the branch. The task then has the execution config of the
	// checkpoint's task, with the env of Execution.
	Fork *NewFork
	// NoAgent is the error for a draft without an agent that can start, unless its IdempotencyKey names an existing task.
	NoAgent error
	// Check returns why the task is not stored. It is asked last, because it may cost a call of a model, and not if the
	// IdempotencyKey names an existing task. Nil: no check.
	Check func(context.Context) error
}

// NewFork names the checkpoint of another task.
type NewFork struct{ TaskID, Checkpoint string }

// NewValidation says whether the work of a task is validated.
type NewValidation struct {
	Asked  *bool // setting of the task itself; nil: decided by type and project
	ByType bool
	Able   bool // the validator has what it needs, so a default may apply
	Rounds int  // maximum number
}

// NewTicket is an accepted ticket.
type NewTicket struct {
	Title       string
	Description string
	TicketType  string
	PhaseID     string
	Priority    string
	Context     json.RawMessage // JSON object
}

// CheckDeadline returns [CodeInvalid] if a deadline has passed; nil: no deadline.
func CheckDeadline(deadline *time.Time) error {
	if deadline == nil || deadline.After(time.Now()) {
		return nil
	}
	return Invalid("deadline_at", "The deadline %s is in the past: give a future time.", deadline.Format(time.RFC3339))
}

// Accepted is the result of a [NewTask].
type Accepted struct {
	TaskID   string
	TicketID string
	Repeated bool // the idempotency key was known; this is the existing task
}
