package explain

import (
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// Evidence is an event that shows something, in short.
type Evidence struct {
	TaskID    string    `json:"task_id"`
	Attempt   int       `json:"attempt"`
	SandboxID string    `json:"sandbox_id"`
	Sequence  int64     `json:"event"` // its number in the sandbox
	Type      string    `json:"event_type"`
	Says      string    `json:"says"`    // the beginning of what it tells, without secrets; may be empty
	Failure   bool      `json:"failure"` // it tells of something that failed
	At        time.Time `json:"at"`
}

// Kinds of diagnoses.
const (
	DiagnosisRepeated = "repeated" // attempts have failed again and again, and the task goes on
	DiagnosisEnded    = "ended"    // the task has failed
	DiagnosisTicket   = "ticket"   // tasks of one ticket have failed one after the other
)

// States of what is said to agents about a diagnosis.
const (
	NoticeNone = "none" // no agent is told: it could do nothing about it, or the task is over
	NoticeHeld = "held" // the next attempt's agent is told
	NoticeSent = "sent" // it was; the message has a receipt of its own
)

// Diagnosis says what failed again and again in a task or a ticket, and what to do about it. That of a ticket names
// its newest task that failed.
type Diagnosis struct {
	ID             string            `json:"id"`
	OrganizationID string            `json:"organization_id"`
	ProjectID      string            `json:"project_id"`
	TicketID       string            `json:"ticket_id"`
	TaskID         string            `json:"task_id"`
	Attempt        int               `json:"attempt"`  // the newest that had failed; 0: it failed before the first
	Kind           string            `json:"kind"`     // repeated, ended or ticket
	EndedAt        *time.Time        `json:"ended_at"` // when the task failed; null: it went on
	FailureClass   task.FailureClass `json:"failure_class"`
	Failures       int               `json:"failures"`        // attempts in a row that failed in this way; of a ticket, tasks in a row
	TicketFailures int               `json:"ticket_failures"` // tasks of its ticket that stand failed, with this one
	What           string            `json:"what"`            // what failed, in a sentence
	Reason         string            `json:"reason"`          // message of the newest failure, part of what; empty: it left none
	Cause          string            `json:"cause"`           // the likely one; empty: nobody can say
	Proposal       string            `json:"proposal"`        // the next step, in a sentence
	Command        string            `json:"command"`         // to type for it
	Advice         string            `json:"advice"`          // to the next attempt's agent; empty: it could do nothing about it
	Evidence       []Evidence        `json:"evidence" nullable:"false"`
	SpokenBy       string            `json:"spoken_by"`  // rules or model: who named the cause
	Model          string            `json:"model"`      // which one; empty: none spoke
	Confidence     float64           `json:"confidence"` // 0..1 in the cause
	Trouble        string            `json:"trouble"`    // why no model spoke although one is there
	Notice         string            `json:"notice"`     // none, held or sent: whether the next attempt's agent is told
	MessageID      string            `json:"message_id"` // of that; empty: none was sent
	Webhook        *Delivery         `json:"webhook"`    // null: no webhook is configured
	CreatedAt      time.Time         `json:"created_at"`
}

// States of a delivery.
const (
	DeliveryPending   = "pending"   // sent again later
	DeliveryDelivered = "delivered" // the receiver answered with a 2xx
	DeliveryFailed    = "failed"    // sent in vain for three days
)

// Delivery is what became of a webhook.
type Delivery struct {
	ID          string     `json:"id" doc:"UUID of the delivery, the same in every attempt: a receiver detects duplicates by it."`
	State       string     `json:"state" enum:"pending,delivered,failed" doc:"pending: to be sent again. delivered: accepted by the receiver. failed: given up after three days. More values may be added."`
	Attempts    int        `json:"attempts" doc:"Number of requests to the receiver so far."`
	Error       string     `json:"error" doc:"Error of the newest request; empty: none failed."`
	DeliveredAt *time.Time `json:"delivered_at" doc:"When the receiver accepted the webhook; null: not accepted."`
}

// ToAgent is what the next attempt's agent is told.
func (d Diagnosis) ToAgent() string {
	text := "omoi has looked at the attempts before this one. " + d.What
	if d.Cause != "" {
		text += "\nLikely cause: " + d.Cause
	}
	if d.Advice != "" {
		text += "\nAdvice: " + d.Advice
	}
	return text
}
