package supervise

import (
	"time"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
)

// DiagnosedAttempt is an attempt of a task that is diagnosed.
type DiagnosedAttempt struct {
	task.Attempt

	TaskID string
	Feed   []event.Event // its newest events, oldest first; may be empty
	// InterruptedBy is the kind of who sent the newest interrupt for which its agent stopped; empty: nobody did.
	InterruptedBy string
}

// DiagnosisInput is all that is known of a task that has failed, for whoever diagnoses it.
type DiagnosisInput struct {
	Task           task.Task
	Tries          []DiagnosedAttempt // oldest first
	TicketFailures int
	Diagnoses      int       // that it had before
	Diagnosed      int       // the newest attempt that they speak of; 0: none
	At             time.Time // by the database's clock
}

// TicketEnds are the newest ends of a ticket's tasks, and what was said of them.
type TicketEnds struct {
	Ends      []TicketEnd // newest first
	Diagnoses int         // that the ticket had before
	Upto      time.Time   // the newest end of which they speak
}

// TicketEnd is a task that is over.
type TicketEnd struct {
	TaskID string
	Failed bool
	At     time.Time
}
