package task

import (
	"encoding/json"
	"time"
)

// PageRequest asks for one page of a list that is ordered newest first.
type PageRequest struct {
	Limit  int    // 1..500
	Cursor string // of the page before; empty: the first page
}

// Page is one page of a list.
type Page[T any] struct {
	Items      []T    `json:"items" nullable:"false"`
	NextCursor string `json:"next_cursor"` // empty: this is the last page
}

// Query selects tasks of an organization: those with one of the values of each filter. A nil filter selects all.
type Query struct {
	PageRequest
	Statuses   []string
	PhaseIDs   []string
	HasSandbox *bool
	TicketIDs  []string
	ProjectIDs []string
	Fragments  []string // beginnings or ends of IDs, or beginnings of their last 8 digits: hexadecimal digits and hyphens
}

// SandboxQuery selects sandboxes of the ledger, by the rule of [Query].
type SandboxQuery struct {
	PageRequest
	TaskIDs    []string
	States     []string
	Unverified bool // keep those that are not verified gone
	Bare       bool // show those of nobody too
}

// Change is what may be changed about a task; nil leaves a field alone.
type Change struct {
	Title       *string
	Description *string // only while the task is pending
	Priority    *string
	DeadlineAt  *time.Time
}

// Pause is what is asked of a project as a whole.
type Pause struct {
	OrganizationID string
	ProjectID      string
	Now            bool // stops what is at work too
	Reason         string
	Sender         string
}

// ProjectChange is what may be changed about a project; nil leaves a field alone.
type ProjectChange struct {
	Name          *string
	Description   *string
	DefaultBranch *string
	MaxSlots      *int
	Paused        *bool
	Autonomous    *bool
	// AgentsMayMessage lets the agents of the project write to each other.
	AgentsMayMessage *bool
	AutoSteering     Choice // lets the guardian act
	OnFeedback       *OnFeedback
	Settings         json.RawMessage
	Setup            *string
	SetupTimeoutS    *int
}
