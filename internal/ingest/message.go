package ingest

import (
	"errors"
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// Kinds of messages to a running agent.
const (
	MessageUser      = "user_message"
	MessageInterrupt = "interrupt" // delivered before the others
	MessageNudge     = "guardian_nudge"
	MessageSystem    = "system"
)

// Kinds of senders, set by the caller's credential and never by the request.
const (
	SenderPerson   = "person"
	SenderGuardian = "guardian"
	SenderSystem   = "system"
	SenderAgent    = "agent"
)

// States of a message. All except the first two are settled: the message is delivered to no one any more.
const (
	MessageAccepted     = "accepted"
	MessageDelivered    = "delivered"    // leased to a taker
	MessageAcknowledged = "acknowledged" // one taker has won it, or has injected it
	// MessageAnswered: the agent has also responded, by agent.waiting, by agent.interrupted, or by an agent.message
	// with in_reply_to.
	MessageAnswered = "answered"
	MessageExpired  = "expired"  // the attempt ended first
	MessageRejected = "rejected" // no agent was running when it was accepted
)

// Bounds of messages.
const (
	MaxMessage      = 64 << 10 // bytes of content
	MaxOpenMessages = 1000     // waiting messages for one agent
	MaxTakerName    = 100      // bytes
)

// NewMessage is a message to the agent of a sandbox.
type NewMessage struct {
	SandboxID  string
	Kind       string // one of the kinds above; empty means [MessageUser]
	Content    string // not empty
	SenderKind string // one of the kinds above; empty means [SenderPerson]
	SenderID   string
	Bare       bool // create an unmanaged sandbox for an unknown ID; else task.CodeNotFound
	Once       MessageKey
}

// MessageKey deduplicates repeats: the same key and body return the same message. The zero value is no key.
type MessageKey struct {
	Scope    string // where the key is unique: the sandbox that the sender posts to
	Key      string
	BodyHash []byte
}

// AllowScope is the beginning of the scope of messages that allow a refused call once; the key is the ID of the refusal. So a refusal
// is allowed by one message at most.
const AllowScope = "allow:"

// Message is a message with its delivery status.
type Message struct {
	ID         string `json:"id" doc:"UUID of the message."`
	SandboxID  string `json:"sandbox_id" doc:"Sandbox whose agent receives the message."`
	TaskID     string `json:"task_id" doc:"Task of the sandbox whose agent receives the message; empty: the sandbox is unmanaged."` // set by reads of a single message only
	Kind       string `json:"message_type" enum:"user_message,interrupt,guardian_nudge,system" doc:"An interrupt stops the current turn of the agent and overtakes other messages. More values may be added."`
	Content    string `json:"content" doc:"Text for the agent, at most 64 KiB."`
	SenderKind string `json:"sender_kind" enum:"person,guardian,system,agent" doc:"Kind of sender; person: a user. More values may be added."`
	SenderID   string `json:"sender_id" doc:"Name of the user's API key or login, or the sandbox ID of an agent; empty: unknown."`

	State         string     `json:"state" enum:"accepted,delivered,acknowledged,answered,expired,rejected" doc:"Delivery status: accepted and delivered (leased) are open. More values may be added."`
	Reason        string     `json:"reason" doc:"Why the message expired, was rejected, or stays delivered; else empty."`
	AcceptedAt    time.Time  `json:"accepted_at" doc:"When the server stored the message."`
	DeliveredAt   *time.Time `json:"delivered_at" doc:"When the message was last leased to a consumer; null: never."`
	DeliveryCount int        `json:"delivery_count" doc:"Number of leases so far; a message is leased again after a lease ends without acknowledgement."`
	SettledAt     *time.Time `json:"settled_at" doc:"When the delivery ended, so that no consumer gets the message again; null: open."`
	AnsweredAt    *time.Time `json:"answered_at" doc:"When the agent reported that it acted on the message; null: not reported."`

	Allows         string `json:"-"` // ID of the refusal whose call the message allows; empty: none
	Taker          string `json:"-"` // name of the taker that has won it; may be empty
	OrganizationID string `json:"-"` // of the sandbox; empty: none. Set like TaskID
}

// Settled reports whether the message is not delivered any more. A message that a legacy worker never confirmed is
// settled as delivered.
func (m Message) Settled() bool {
	return m.SettledAt != nil || m.State != MessageAccepted && m.State != MessageDelivered
}

// MinPoll is the minimum length of a poll's name.
const MinPoll = 8

// Taking is a poll for the messages of a sandbox.
type Taking struct {
	SandboxID string
	Kind      string        // only messages of this kind; empty: all
	Lease     time.Duration // zero: 60 s
	Limit     int           // zero: 100
	Poll      string        // name of the poll, at least [MinPoll] bytes, or empty; a repeat gets the same messages
	Legacy    bool          // the taker does not support leases and acknowledgements
}

// RefusedError is the cause of the error of a message without a recipient. The message is stored nevertheless.
type RefusedError struct{ MessageID string }

func (e *RefusedError) Error() string { return "message " + e.MessageID + " is stored as refused" }

// Refused returns the error of a stored message that was rejected.
func Refused(code task.Code, m Message) error {
	kind := task.KindMessageRejected
	if code == task.CodeGone {
		kind = task.KindSandboxDeleted
	}
	return task.Errorf(code, "Message rejected: %s Next: read its delivery status, message %s", m.Reason, m.ID).
		WithKind(kind).WithCause(&RefusedError{m.ID})
}

// RefusedOf returns the ID of the rejected message of err, if there is one.
func RefusedOf(err error) (messageID string, ok bool) {
	refused, ok := errors.AsType[*RefusedError](err)
	if !ok {
		return "", false
	}
	return refused.MessageID, true
}
