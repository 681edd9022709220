package client

import (
	"context"
	"errors"
	"time"
)

// States of a [MessageReceipt]. Those but the first two are settled.
const (
	MessageAccepted  = "accepted"
	MessageDelivered = "delivered"
	MessageTakenUp   = "taken_up"
	MessageAnswered  = "answered"
	MessageExpired   = "expired"
	MessageRefused   = "refused"
)

// OutboxMessage is the body of POST /api/v1/sandboxes/{id}/outbox: what an agent says to
// another one of its project.
type OutboxMessage struct {
	To      string `json:"to"` // id of the other agent's sandbox, or of its task
	Content string `json:"content"`
	Type    string `json:"message_type,omitempty"` // user_message (default) or interrupt
}

// MessageReceipt is the answer of GET /api/v1/messages/{id}.
type MessageReceipt struct {
	ID         string `json:"id"`
	SandboxID  string `json:"sandbox_id"`
	TaskID     string `json:"task_id"` // empty: the sandbox belongs to none
	Type       string `json:"message_type"`
	Content    string `json:"content"`
	SenderKind string `json:"sender_kind"` // person, guardian, system, agent
	SenderID   string `json:"sender_id"`   // the name of a key, or the sandbox of an agent
	// State is accepted, delivered, taken_up, answered, expired or refused; Reason says why of the last two, and why a message
	// that is settled stays delivered.
	State       string     `json:"state"`
	Reason      string     `json:"reason"`
	AcceptedAt  time.Time  `json:"accepted_at"`
	DeliveredAt *time.Time `json:"delivered_at"` // the newest of the deliveries
	Deliveries  int        `json:"deliveries"`
	SettledAt   *time.Time `json:"settled_at"` // taken up, expired or refused
	AnsweredAt  *time.Time `json:"answered_at"`
}

// Settled reports whether nobody is given the message any more.
func (m MessageReceipt) Settled() bool {
	return m.SettledAt != nil || m.State != MessageAccepted && m.State != MessageDelivered
}

// Message returns the receipt of a message. With a wait the server answers when it is settled,
// and after 25 s at the latest.
func (c *Client) Message(ctx context.Context, id string, wait time.Duration) (MessageReceipt, error) {
	return answer[MessageReceipt](ctx, c, call{path: item("messages", id), query: query("wait", patience(wait))})
}

// refusedError carries the id of a message that was stored and refused.
type refusedError struct{ messageID string }

func (e *refusedError) Error() string { return "message " + e.messageID + " is refused" }

// RefusedMessage answers the id of the message whose refusal err tells, if it does.
func RefusedMessage(err error) (id string, ok bool) {
	refused, ok := errors.AsType[*refusedError](err)
	if !ok {
		return "", false
	}
	return refused.messageID, true
}
