package client

import "github.com/omoi-dev/omoi/internal/task"

// DiagnosisQuery selects diagnoses.
type DiagnosisQuery struct {
	PageRequest

	TaskIDs   []string // of the tasks themselves; nil: of all
	TicketIDs []string // of the tickets and of their tasks; nil: of all
}

// Standing is all that a long poll asks of a task.
type Standing struct {
	Status task.Status
	Ended  bool // every attempt has ended
}

// GuardianQuery selects judgements or interventions, newest first.
type GuardianQuery struct {
	PageRequest

	TaskIDs []string // nil: of all tasks
}

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

// TaskQuery selects tasks of an organization: those with one of the values of each filter. A nil filter selects all.
type TaskQuery struct {
	PageRequest
	Statuses   []string
	PhaseIDs   []string
	HasSandbox *bool
	TicketIDs  []string
	ProjectIDs []string
	Fragments  []string // beginnings or ends of IDs, or beginnings of their last 8 digits: hexadecimal digits and hyphens
}

// SandboxQuery selects sandboxes of the ledger, by the rule of [TaskQuery].
type SandboxQuery struct {
	PageRequest
	TaskIDs    []string
	States     []string
	Unverified bool // keep those that are not verified gone
	Bare       bool // show those of nobody too
}
