package api

import (
	"context"
	"net/http"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/task"
)

// Messages stores messages to agents.
type Messages interface {
	AcceptMessage(ctx context.Context, m ingest.NewMessage) (ingest.Message, error)
	MessageOfKey(ctx context.Context, once ingest.MessageKey) (ingest.Message, bool, error)
	LeaseMessages(ctx context.Context, in ingest.Taking) ([]ingest.Message, error)
	// AckMessage reports whether the taker has won the message. Only then may the taker use it.
	AckMessage(ctx context.Context, sandboxID, id, taker string) (won bool, err error)
	Message(ctx context.Context, id string) (ingest.Message, error)
	// MessageBetween returns the sandbox of the agent to, if the agent from may write to it.
	MessageBetween(ctx context.Context, from, to string) (sandboxID string, err error)
}

// registerMessages registers the message routes.
func (a *API) registerMessages() {
	sandboxes := a.group(tagSandboxes, "/api/v1/sandboxes/{sandbox_id}")
	messages := a.group(tagSandboxes, "/api/v1/messages")
	crowded := []int{http.StatusTooManyRequests}
	add(sandboxes.on(accessInbox, "POST /messages", "send-message", "Send a message"), a.postMessage,
		details{
			more: "Legacy. Stores a message for the agent; the path may also name an active agent by its own ID. " +
				"409 or 410 if no agent listens, with the ID of the rejected message; 429 if 1,000 messages wait.",
			says: client.CreateMessageRequest{}, fails: crowded,
		})
	add(sandboxes.on(accessSandbox, "GET /messages", "lease-messages", "Lease pending messages"), a.takeMessages,
		details{more: "Legacy. Returns up to 100 messages, interrupts first, each leased for 60 s: without an acknowledgement the " +
			"message is leased again. A legacy worker, which sends neither wait nor poll, gets a message three times at most."})
	add(sandboxes.on(accessInspect, "GET /messages/{message_id}", "sandbox-message", "Get a delivery status"),
		a.sandboxMessage, details{more: "Delivery status of a message to the agent of this sandbox, or from that agent."})
	add(sandboxes.on(accessSandbox, "POST /messages/{message_id}/ack", "ack-message", "Acknowledge a message"),
		a.ackMessage, details{more: "One consumer wins a message: use the message only if settled is true."})
	add(sandboxes.on(accessSandbox, "POST /outbox", "send-agent-message", "Send a message to another agent"),
		a.postOutbox, details{
			more: "Sends a message to an agent of the same project, where the project allows agent messages (403 otherwise). " +
				"Needs the token of the sandbox in the path.",
			says: client.CreateAgentMessageRequest{}, fails: crowded,
		})
	add(messages.on(accessRead, "GET /{message_id}", "get-message", "Get a delivery status"), a.getMessage,
		details{more: "Delivery status of a message in the caller's organization."})
}

const leaseAtOnce = 100 // messages in one response

type postMessageIn struct {
	SandboxPath
	Key     string `header:"Idempotency-Key" doc:"Key of the message in this inbox or outbox: the same key and body return the same message, another body is 409"`
	RawBody []byte `contentType:"application/json"`
}

// once returns the idempotency key of a request, unique in the sandbox that it posts to.
func (in *postMessageIn) once(box string, said any) (ingest.MessageKey, error) {
	if in.Key == "" {
		return ingest.MessageKey{}, nil
	}
	if err := checkIdempotencyKey(in.Key); err != nil {
		return ingest.MessageKey{}, err
	}
	hash, err := hashOf(said)
	return ingest.MessageKey{Scope: box + ":" + in.SandboxID, Key: in.Key, BodyHash: hash}, err
}

// postMessage puts a message of a user into an agent's inbox.
func (a *API) postMessage(ctx context.Context, in *postMessageIn) (*bodyOut[client.QueuedMessage], error) {
	var said client.CreateMessageRequest
	if err := decode(in.RawBody, &said); err != nil {
		return nil, err
	}
	who := callerOf(ctx)
	if who.sandbox != "" {
		return nil, task.Errorf(task.CodeForbidden,
			"An agent cannot send a message to its own inbox. Next: use POST .../outbox for another agent of the project")
	}
	once, err := in.once("inbox", said)
	if err != nil {
		return nil, err
	}
	box, err := a.inboxOf(ctx, who, in.SandboxID)
	if err != nil {
		return nil, err
	}
	if said.Allows != "" {
		if once, err = a.allowance(ctx, box, said.Allows); err != nil {
			return nil, err
		}
	}
	return a.say(ctx, ingest.NewMessage{
		SandboxID: box, Kind: said.Type, Content: said.Content,
		SenderKind: ingest.SenderPerson, SenderID: who.name, Bare: a.cfg.Open, Once: once,
	})
}

// allowance returns the key of a message that allows the call of a refusal once.
func (a *API) allowance(ctx context.Context, box, id string) (ingest.MessageKey, error) {
	sequence, ok := ingest.ParseEventID(box, id)
	if !ok {
		return ingest.MessageKey{}, task.Errorf(task.CodeNotFound, "Event %s not found in sandbox %s.", clip(id), box)
	}
	e, err := a.deps.Readers.Event(ctx, box, sequence)
	if err != nil {
		return ingest.MessageKey{}, err
	}
	refused := event.Read[struct {
		Refusal string `json:"refusal"`
		Can     bool   `json:"can_be_allowed"`
	}](e.Data)
	switch {
	case e.Type != event.AgentToolRefused || refused.Refusal == "":
		return ingest.MessageKey{}, task.Invalid("allows", "Event %s is not a refused call: its type is %s, not %s.", clip(id), clip(e.Type), event.AgentToolRefused)
	case !refused.Can:
		return ingest.MessageKey{}, task.Errorf(task.CodeConflict, "The agent gets no messages, so its refused call cannot be allowed. Next: change the task contract for the next attempt")
	}
	return ingest.MessageKey{Scope: ingest.AllowScope + box, Key: refused.Refusal}, nil
}

// inboxOf returns the sandbox with an ID, or the sandbox in which the agent with that ID is active.
func (a *API) inboxOf(ctx context.Context, who caller, id string) (string, error) {
	_, _, missing := a.deps.Identities.SandboxOwner(ctx, id)
	if missing == nil && !a.cfg.Open {
		missing = a.ownsSandbox(ctx, who, id)
	}
	if task.CodeOf(missing) != task.CodeNotFound {
		return id, missing
	}
	found, err := a.deps.Monitored.Resolve(ctx, who.organization, id)
	switch {
	case task.CodeOf(err) != task.CodeNotFound:
		return found, err
	case a.cfg.Open: // the first message creates an unmanaged sandbox
		return id, nil
	}
	return "", missing
}

// postOutbox puts a message of an agent into the inbox of another agent.
func (a *API) postOutbox(ctx context.Context, in *postMessageIn) (*bodyOut[client.QueuedMessage], error) {
	var said client.CreateAgentMessageRequest
	if err := decode(in.RawBody, &said); err != nil {
		return nil, err
	}
	switch {
	case callerOf(ctx).sandbox == "": // also if authentication is disabled: the token identifies the sender
		return nil, task.Errorf(task.CodeForbidden,
			"The outbox needs the token of its sandbox. Next: users send a message with POST .../messages")
	case said.To == "":
		return nil, task.Invalid("to", "Missing field to: expected the sandbox or the task of another agent.")
	case said.Type != "" && said.Type != ingest.MessageUser && said.Type != ingest.MessageInterrupt:
		return nil, task.Invalid("message_type", "Invalid message_type: an agent may send user_message or interrupt.")
	}
	once, err := in.once("outbox", said)
	if err != nil {
		return nil, err
	}
	if known, found, err := a.deps.Messages.MessageOfKey(ctx, once); found || err != nil {
		return queued(known), err // also if its task has another agent by now
	}
	to, err := a.deps.Messages.MessageBetween(ctx, in.SandboxID, said.To)
	if err != nil {
		return nil, err
	}
	return a.say(ctx, ingest.NewMessage{
		SandboxID: to, Kind: said.Type, Content: said.Content, SenderKind: ingest.SenderAgent, SenderID: in.SandboxID,
		Once: once,
	})
}

func queued(m ingest.Message) *bodyOut[client.QueuedMessage] {
	return &bodyOut[client.QueuedMessage]{client.QueuedMessage{Status: "queued", MessageID: m.ID, SandboxID: m.SandboxID}}
}

// say stores a message, then notifies its reader.
func (a *API) say(ctx context.Context, m ingest.NewMessage) (*bodyOut[client.QueuedMessage], error) {
	stored, err := a.deps.Messages.AcceptMessage(ctx, m)
	if err != nil {
		return nil, err
	}
	a.deps.Bus.Wake(live.Messages(stored.SandboxID))
	return queued(stored), nil
}

type takeMessagesIn struct {
	SandboxPath
	Wait string `query:"wait" doc:"Long poll: maximum time to wait for a message, for example 25s or 25; default 0"`
	Only string `query:"only" enum:"interrupt" doc:"Lease only messages of this type; the others stay for another consumer"`
	Poll string `query:"poll" minLength:"8" maxLength:"100" doc:"Name of this poll, new after each answer: a repeated poll gets the messages of the lost answer at once"`
}

// takeMessages leases waiting messages and returns a bare array, interrupts first.
func (a *API) takeMessages(ctx context.Context, in *takeMessagesIn) (*arrayOut[client.LeasedMessage], error) {
	wait, err := a.waitOf(in.Wait)
	if err != nil {
		return nil, err
	}
	out := []client.LeasedMessage{}
	taking := ingest.Taking{
		SandboxID: in.SandboxID, Kind: in.Only, Lease: a.cfg.Lease, Limit: leaseAtOnce, Poll: in.Poll,
		Legacy: in.Wait == "" && in.Poll == "",
	}
	err = a.poll(ctx, live.Messages(in.SandboxID), wait, func() (bool, error) {
		leased, err := a.deps.Messages.LeaseMessages(ctx, taking)
		for _, m := range leased {
			out = append(out, messageTo(m))
		}
		return len(leased) > 0, err
	})
	return array(out, err)
}

// messageTo returns a message in the form that its agent gets. A message that is not from a user names its sender.
func messageTo(m ingest.Message) client.LeasedMessage {
	given := client.LeasedMessage{ID: m.ID, Content: m.Content, Type: m.Kind, Timestamp: m.AcceptedAt, Allows: m.Allows}
	if m.SenderKind != ingest.SenderPerson {
		given.SenderKind, given.SenderID = m.SenderKind, m.SenderID
	}
	return given
}

type ackMessageIn struct {
	SandboxPath
	MessageID string `path:"message_id" doc:"UUID of the leased message"`
	Taker     string `query:"taker" doc:"Name of the consumer, at most 100 bytes: the consumer that won the message may repeat the request under its name"`
}

// ackMessage lets one taker win a message, and notifies readers that wait for its delivery receipt.
func (a *API) ackMessage(ctx context.Context, in *ackMessageIn) (*bodyOut[client.AcknowledgedMessage], error) {
	won, err := a.deps.Messages.AckMessage(ctx, in.SandboxID, in.MessageID, in.Taker)
	if won {
		a.deps.Bus.Wake(live.Sandbox(in.SandboxID))
	}
	return body(client.AcknowledgedMessage{Status: "acknowledged", MessageID: in.MessageID, Settled: won}, err)
}

// MessagePath is the message in the path of a request.
type MessagePath struct {
	MessageID string `path:"message_id" doc:"UUID of the message, from the answer that queued the message"`
	Wait      string `query:"wait" doc:"Long poll: maximum time to wait until the delivery has ended, for example 25s or 25; default 0"`
}

type sandboxMessageIn struct {
	SandboxPath
	MessagePath
}

// sandboxMessage returns the delivery receipt of a message to or from the agent of a sandbox.
func (a *API) sandboxMessage(ctx context.Context, in *sandboxMessageIn) (*bodyOut[client.MessageReceipt], error) {
	return a.receipt(ctx, in.MessagePath, func(m ingest.Message) bool {
		return m.SandboxID == in.SandboxID || m.SenderKind == ingest.SenderAgent && m.SenderID == in.SandboxID
	})
}

// getMessage returns the delivery receipt of a message in the caller's organization.
func (a *API) getMessage(ctx context.Context, in *MessagePath) (*bodyOut[client.MessageReceipt], error) {
	who := callerOf(ctx)
	return a.receipt(ctx, *in, func(m ingest.Message) bool {
		return m.OrganizationID == who.organization || m.OrganizationID == "" && a.cfg.Open
	})
}

// receipt returns the delivery receipt of a message once it is settled or the wait is over.
func (a *API) receipt(
	ctx context.Context, in MessagePath, mine func(ingest.Message) bool,
) (*bodyOut[client.MessageReceipt], error) {
	wait, err := a.waitOf(in.Wait)
	if err != nil {
		return nil, err
	}
	m, err := a.deps.Messages.Message(ctx, in.MessageID)
	if err == nil && !mine(m) {
		err = task.Errorf(task.CodeNotFound, "There is no message %s.", in.MessageID)
	}
	if err != nil {
		return nil, err
	}
	if wait.wait > 0 && !m.Settled() {
		err = a.poll(ctx, live.Sandbox(m.SandboxID), wait, func() (bool, error) {
			m, err = a.deps.Messages.Message(ctx, in.MessageID)
			return m.Settled(), err
		})
	}
	return body(m, err)
}
