package client

import (
	"encoding/json"
	"time"

	"github.com/omoi-dev/omoi/internal/explain"
)

// Ticket is a piece of work that a person wants; one or more tasks belong to it.
type Ticket struct {
	ID          string          `json:"id"`
	ProjectID   string          `json:"project_id"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	TicketType  string          `json:"ticket_type"`
	PhaseID     string          `json:"phase_id"`
	Status      string          `json:"status"`      // by its tasks: backlog, analyzing, building, building-done, testing, done
	Blocked     bool            `json:"is_blocked"`  // one of them has failed, or waits for one that did
	BlockedWhy  string          `json:"blocked_why"` // which task blocks it, and why that failed; empty: it is not blocked
	Priority    string          `json:"priority"`
	Context     json.RawMessage `json:"context"`
	CreatedAt   time.Time       `json:"created_at"`
	UpdatedAt   time.Time       `json:"updated_at"`
	// TaskIDs are its tasks, oldest first; the first one is made with the ticket.
	TaskIDs []string `json:"task_ids" nullable:"false"`
	// OfCheck: it has no tasks but those of omoi check. Lists for people leave it out.
	OfCheck bool `json:"of_check"`
	// Diagnosis is the newest that was made of the ticket itself; null: its tasks have not failed again and again.
	Diagnosis *explain.Diagnosis `json:"diagnosis"`
}
