package task

import (
	"encoding/json"
	"time"
)

// NewTask is a task as it is accepted: complete, checked, and not yet stored.
type NewTask struct {
	OrganizationID string
	UserID         string // whose task it is; empty: nobody's
	// One of the three says where the task belongs; the first that is not empty counts.
	TicketID  string
	ProjectID string
	Repo      string
	// Ticket is made when TicketID is empty.
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
	Execution   json.RawMessage // an object

	Sender string // who asks, for the receipt
	Trace  string // W3C traceparent of the request; empty: it is not traced
	// IdempotencyKey with the same BodyHash answers the same task; empty: every time a new one.
	IdempotencyKey string
	BodyHash       []byte
	ProjectSlots   int // limit of a project that has to be made
	// NoAgent refuses a draft without an agent, unless its IdempotencyKey names a task already.
	NoAgent error
}

// NewValidation says whether the work of a task is to be validated.
type NewValidation struct {
	Asked  *bool // by the task itself; nil: type and project say
	ByType bool
	Able   bool // the validator has all that it needs: a default may count
	Rounds int  // at most
}

// NewTicket is a ticket as it is accepted.
type NewTicket struct {
	Title       string
	Description string
	TicketType  string
	PhaseID     string
	Priority    string
	Context     json.RawMessage // an object
}

// Accepted names what a [NewTask] became.
type Accepted struct {
	TaskID   string
	TicketID string
	Repeated bool // the idempotency key was known: this is the task of the first time
}
