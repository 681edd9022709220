package ingest

import "time"

// Kinds of messages to a running agent.
const (
	MessageUser      = "user_message"
	MessageInterrupt = "interrupt" // overtakes the others
	MessageNudge     = "guardian_nudge"
	MessageSystem    = "system"
)

// States of a message.
const (
	MessageAccepted  = "accepted"
	MessageDelivered = "delivered" // given out under a lease
	MessageTakenUp   = "taken_up"  // the agent has acknowledged or injected it
	MessageAnswered  = "answered"
	MessageExpired   = "expired"
	MessageRefused   = "refused"
)

// NewMessage is something to be said to the agent of a sandbox.
type NewMessage struct {
	SandboxID  string
	Kind       string // one of the kinds above; empty means [MessageUser]
	Content    string // not empty
	SenderKind string // person, guardian, system or agent; empty means person
	SenderID   string
	Bare       bool // make a bare row for an unknown sandbox; else it is task.CodeNotFound
}

// Message is a message and its receipt.
type Message struct {
	ID          string     `json:"id"`
	SandboxID   string     `json:"sandbox_id"`
	Kind        string     `json:"message_type"`
	Content     string     `json:"content"`
	SenderKind  string     `json:"sender_kind"`
	SenderID    string     `json:"sender_id"`
	State       string     `json:"state"`
	Reason      string     `json:"reason"` // why it was refused or has expired
	AcceptedAt  time.Time  `json:"accepted_at"`
	DeliveredAt *time.Time `json:"delivered_at"` // newest delivery
	Deliveries  int        `json:"deliveries"`
	SettledAt   *time.Time `json:"settled_at"`
}
