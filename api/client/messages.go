package client

import (
	"context"
	"errors"
	"time"

	"github.com/omoi-dev/omoi/internal/ingest"
)

// States of a [MessageReceipt]. All except the first two are settled.
const (
	MessageAccepted     = ingest.MessageAccepted
	MessageDelivered    = ingest.MessageDelivered
	MessageAcknowledged = ingest.MessageAcknowledged
	MessageAnswered     = ingest.MessageAnswered
	MessageExpired      = ingest.MessageExpired
	MessageRejected     = ingest.MessageRejected
)

// CreateAgentMessageRequest is the body of POST /api/v1/sandboxes/{id}/outbox: a message of an agent to another agent
// of its project.
type CreateAgentMessageRequest struct {
	To      string `json:"to" doc:"Receiving agent, by sandbox ID, task UUID, or the agent ID that it reported."`
	Content string `json:"content" doc:"Text of 1 byte to 64 KiB, without U+0000."`
	Type    string `json:"message_type,omitempty" enum:"user_message,interrupt" default:"user_message" doc:"An interrupt stops the current turn of the agent and overtakes other messages; default user_message."`
}

// MessageReceipt is the response of GET /api/v1/messages/{id}.
type MessageReceipt = ingest.Message

// Message returns the delivery receipt of a message. With a wait the server responds when the message is settled, and
// after 25 s at the latest.
func (c *Client) Message(ctx context.Context, id string, wait time.Duration) (MessageReceipt, error) {
	return answer[MessageReceipt](ctx, c, call{path: item("messages", id), query: query("wait", patience(wait))})
}

// refusedError carries the ID of a message that was stored and rejected.
type refusedError struct{ messageID string }

func (e *refusedError) Error() string { return "message " + e.messageID + " is refused" }

// RefusedMessage returns the ID of the rejected message of err, if there is one.
func RefusedMessage(err error) (id string, ok bool) {
	refused, ok := errors.AsType[*refusedError](err)
	if !ok {
		return "", false
	}
	return refused.messageID, true
}
