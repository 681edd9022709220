package client

import (
	"encoding/json"
	"time"

	"github.com/omoi-dev/omoi/internal/explain"
)

// Ticket is a work item of a user with one or more tasks.
type Ticket struct {
	ID          string `json:"id" doc:"Ticket ID, a UUID."`
	Key         string `json:"key" doc:"Short name: the key of the project, -T and a number, for example APP-T7. Accepted wherever a ticket ID is."`
	ProjectID   string `json:"project_id" doc:"ID of the project that owns the ticket."`
	Title       string `json:"title" doc:"What the user wants, in one line."`
	Description string `json:"description" doc:"What the user wants, in full. The first task was created with the same text."`
	TicketType  string `json:"ticket_type" enum:"feature,bug,refactor,docs,test,chore,release" doc:"Kind of change, which decides the prefix of branch names. More values may be added."`
	PhaseID     string `json:"phase_id" enum:"PHASE_BACKLOG,PHASE_REQUIREMENTS,PHASE_DESIGN,PHASE_IMPLEMENTATION,PHASE_TESTING,PHASE_DEPLOYMENT,PHASE_DONE,PHASE_BLOCKED" doc:"Phase, which only users change. More values may be added."`
	Status      string `json:"status" enum:"backlog,analyzing,building,building-done,testing,done" doc:"Progress, derived from the statuses of the tasks. More values may be added."`
	Blocked     bool   `json:"is_blocked" doc:"true: a task of the ticket failed, or waits for a task that failed or was cancelled."`
	BlockedWhy  string `json:"blocked_why" doc:"Sentence that names the blocking task and its failure. Empty: not blocked."`
	Priority    string `json:"priority" enum:"CRITICAL,HIGH,MEDIUM,LOW" doc:"Urgency, which the first task took over when it was created. More values may be added."`

	Context   json.RawMessage    `json:"context" doc:"Object of a user, which omoi stores and returns unchanged. Default: empty."`
	CreatedAt time.Time          `json:"created_at" doc:"When the ticket and its first task were created."`
	UpdatedAt time.Time          `json:"updated_at" doc:"When a field of the ticket itself last changed; changes of its tasks do not count."`
	TaskIDs   []string           `json:"task_ids" nullable:"false" doc:"IDs of the tasks of the ticket, oldest first."`
	IsCheck   bool               `json:"is_check" doc:"true: all tasks of the ticket were created by the command omoi check."`
	Diagnosis *explain.Diagnosis `json:"diagnosis" doc:"Newest diagnosis of the ticket as a whole, made when its tasks keep failing. null: none."`
}
