package ingest

import (
	"errors"
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// Kinds of messages to a running agent.
const (
	MessageUser      = "user_message"
	MessageInterrupt = "interrupt" // overtakes the others
	MessageNudge     = "guardian_nudge"
	MessageSystem    = "system"
)

// Kinds of senders. Who asks decides, never what is asked.
const (
	SenderPerson   = "person"
	SenderGuardian = "guardian"
	SenderSystem   = "system"
	SenderAgent    = "agent"
)

// States of a message. Those but the first two are settled: nobody is given it any more.
const (
	MessageAccepted  = "accepted"
	MessageDelivered = "delivered" // given out under a lease
	MessageTakenUp   = "taken_up"  // one taker has won it, or has injected it
	// MessageAnswered: and has said so since, by agent.waiting, by agent.interrupted, or by
	// an agent.message with in_reply_to.
	MessageAnswered = "answered"
	MessageExpired  = "expired" // the attempt ended first
	MessageRefused  = "refused" // nobody was there when it was accepted
)

// Bounds of messages.
const (
	MaxMessage      = 64 << 10 // bytes of content
	MaxOpenMessages = 1000     // that wait for one agent
	MaxTakerName    = 100      // bytes
)

// NewMessage is something to be said to the agent of a sandbox.
type NewMessage struct {
	SandboxID  string
	Kind       string // one of the kinds above; empty means [MessageUser]
	Content    string // not empty
	SenderKind string // one of the kinds above; empty means [SenderPerson]
	SenderID   string
	Bare       bool // make a bare row for an unknown sandbox; else it is task.CodeNotFound
	Once       MessageKey
}

// MessageKey makes a repeat harmless: the same key and body answer the same message. The zero value is none.
type MessageKey struct {
	Scope    string // where the key is unique: the box that the sender posts to
	Key      string
	BodyHash []byte
}

// Message is a message with its delivery status.
type Message struct {
	ID         string `json:"id"`
	SandboxID  string `json:"sandbox_id"`
	TaskID     string `json:"task_id"` // empty: the sandbox belongs to none. Set by reads of one message alone
	Kind       string `json:"message_type"`
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

	Taker          string `json:"-"` // name of the taker that has won it; may be empty
	OrganizationID string `json:"-"` // of the sandbox; empty: nobody's. Set as TaskID
}

// Settled reports whether nobody is given the message any more. One that a legacy worker never confirmed is settled as delivered.
func (m Message) Settled() bool {
	return m.SettledAt != nil || m.State != MessageAccepted && m.State != MessageDelivered
}

// MinPoll is the length of the shortest name of a poll.
const MinPoll = 8

// Taking is a poll for the messages of a sandbox.
type Taking struct {
	SandboxID string
	Kind      string        // only messages of this kind; empty: all
	Lease     time.Duration // zero: 60 s
	Limit     int           // zero: 100
	Poll      string        // name of the poll: repeated, it is given the same messages again; at least [MinPoll] bytes, or empty
	Legacy    bool          // the taker knows neither leases nor acknowledgements
}

// RefusedError is the cause of the error of a message that nobody could hear. It is stored all the same.
type RefusedError struct{ MessageID string }

func (e *RefusedError) Error() string { return "message " + e.MessageID + " is stored as refused" }

// Refused makes the error of a stored message that is refused.
func Refused(code task.Code, m Message) error {
	return task.Errorf(code, "The message is refused: %s Its receipt is message %s.", m.Reason, m.ID).WithCause(&RefusedError{m.ID})
}

// RefusedOf returns the id of the message whose refusal err tells, if it does.
func RefusedOf(err error) (messageID string, ok bool) {
	refused, ok := errors.AsType[*RefusedError](err)
	if !ok {
		return "", false
	}
	return refused.MessageID, true
}
