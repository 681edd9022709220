package explain

import (
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// Evidence is a short form of an event that supports an explanation.
type Evidence struct {
	TaskID    string    `json:"task_id" doc:"Task in whose sandbox the event was reported."`
	Attempt   int       `json:"attempt" doc:"Number of the attempt that reported the event."`
	SandboxID string    `json:"sandbox_id" doc:"Sandbox that reported the event."`
	Sequence  int64     `json:"event" doc:"Sequence of the event in its sandbox."`
	Type      string    `json:"event_type" doc:"Type as in the event catalog, for example agent.error."`
	Message   string    `json:"message" doc:"Beginning of the text of the event in one line, without secrets. May be empty."`
	Failure   bool      `json:"failure" doc:"Whether the event reports a failure."`
	CreatedAt time.Time `json:"created_at" doc:"When the event was stored."`
}

// Kinds of diagnoses.
const (
	DiagnosisRepeated = "repeated" // attempts failed repeatedly, and the task continues
	DiagnosisEnded    = "ended"    // the task has failed
	DiagnosisTicket   = "ticket"   // several tasks of one ticket failed in a row
)

// Delivery states of a diagnosis to the next attempt's agent.
const (
	NoticeNone    = "none"    // no agent gets the diagnosis: the task has ended, or the agent could not act on it
	NoticePending = "pending" // the next attempt's agent will get the diagnosis
	NoticeSent    = "sent"    // the diagnosis was sent; the message has its own delivery receipt
)

// Diagnosis is the root cause of repeated failures of a task or ticket, with advice. The diagnosis of a ticket names
// its newest failed task.
type Diagnosis struct {
	ID             string            `json:"id" doc:"UUID of the diagnosis."`
	OrganizationID string            `json:"organization_id" doc:"Organization that owns the task."`
	ProjectID      string            `json:"project_id" doc:"Project to which the failed task belongs."`
	TicketID       string            `json:"ticket_id" doc:"Ticket to which the failed task belongs."`
	TaskID         string            `json:"task_id" doc:"Failed task; of a diagnosis of a ticket its newest failed one."`
	Attempt        int               `json:"attempt" doc:"Newest attempt when the diagnosis was made. 0: the task failed before its first attempt."`
	Kind           string            `json:"kind" enum:"repeated,ended,ticket" doc:"repeated: attempts failed one after the other and the task continues; ended: the task failed; ticket: tasks of one ticket failed."`
	EndedAt        *time.Time        `json:"ended_at" doc:"When the task failed. Null: the task continued."`
	FailureClass   task.FailureClass `json:"failure_class" doc:"Class of the failures. Empty: tasks of the ticket failed in different classes."`
	Failures       int               `json:"failures" doc:"Consecutive attempts that failed in this class; of a ticket, failed ends of its tasks."`
	TicketFailures int               `json:"ticket_failures" doc:"Number of failed tasks of the ticket, the diagnosed task included."`
	Summary        string            `json:"summary" doc:"What failed, in a sentence."`
	Reason         string            `json:"reason" doc:"Message of the newest failure. Empty: none."`
	Cause          string            `json:"cause" doc:"Likely cause, in a sentence. Empty: unknown."`
	Proposal       string            `json:"proposal" doc:"Next step for a user, in a sentence."`
	Command        string            `json:"command" doc:"CLI command for the step that proposal names."`
	Advice         string            `json:"advice" doc:"Text for the agent of the next attempt. Empty: the agent cannot avoid the failure."`
	Evidence       []Evidence        `json:"evidence" nullable:"false" doc:"Events that support the cause, newest attempt first."`
	Source         string            `json:"source" enum:"rules,model" doc:"What named the cause: rules, or model for a language model."`
	Model          string            `json:"model" doc:"Name of the language model that named the cause. Empty: rules named it."`
	Confidence     float64           `json:"confidence" doc:"Confidence in the cause, 0 to 1."`
	ModelError     string            `json:"model_error" doc:"Why a configured model gave no cause. Empty: none configured or asked, or its cause is used."`
	Notice         string            `json:"notice" enum:"none,pending,sent" doc:"Message to the agent of the next attempt: none: not needed; pending: not sent yet; sent: message_id has its delivery status."`
	MessageID      string            `json:"message_id" doc:"Message that brought the diagnosis to the agent. Empty: none sent."`
	Webhook        *Delivery         `json:"webhook" doc:"Delivery of the diagnosis by webhook. Null: no webhook configured."`
	CreatedAt      time.Time         `json:"created_at" doc:"When the diagnosis was stored."`
}

// States of a webhook delivery.
const (
	DeliveryPending   = "pending"   // not sent yet, or waiting for a retry
	DeliveryDelivered = "delivered" // the receiver answered with a 2xx
	DeliveryFailed    = "failed"    // given up after three days
)

// Delivery is the delivery of one webhook.
type Delivery struct {
	ID          string     `json:"id" doc:"UUID of the delivery, the same in every attempt: a receiver detects duplicates by it."`
	State       string     `json:"state" enum:"pending,delivered,failed" doc:"pending: to be sent again. delivered: accepted by the receiver. failed: given up after three days. More values may be added."`
	Attempts    int        `json:"attempts" doc:"Number of requests to the receiver so far."`
	Error       string     `json:"error" doc:"Error of the newest request; empty: none failed."`
	DeliveredAt *time.Time `json:"delivered_at" doc:"When the receiver accepted the webhook; null: not accepted."`
}

// ToAgent returns the text for the next attempt's agent.
func (d Diagnosis) ToAgent() string {
	text := "omoi has looked at the attempts before this one. " + d.Summary
	if d.Cause != "" {
		text += "\nLikely cause: " + d.Cause
	}
	if d.Advice != "" {
		text += "\nAdvice: " + d.Advice
	}
	return text
}
