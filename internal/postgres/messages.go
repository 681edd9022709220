package postgres

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// AcceptMessage stores a message for the agent of a sandbox. If the agent no longer reads messages, the message is
// stored as rejected and the error contains it ([ingest.RefusedOf]): [task.CodeGone] if the sandbox is deleted, else
// [task.CodeConflict]. Other errors store no message: [task.CodeInvalid]; [task.CodeExhausted] if too many messages
// wait; [task.CodeNotFound] for an unknown sandbox, unless it may be unmanaged. A known idempotency key returns the
// result of [Store.MessageOfKey].
func (s *Store) AcceptMessage(ctx context.Context, m ingest.NewMessage) (ingest.Message, error) {
	if err := checkMessage(&m); err != nil {
		return ingest.Message{}, err
	}
	if known, found, err := s.MessageOfKey(ctx, m.Once); found || err != nil {
		return known, err
	}
	var stored db.Message
	var refusal task.Code
	err := s.inTx(ctx, func(q *db.Queries) (err error) {
		stored, refusal, err = putMessage(ctx, q, m)
		return err
	})
	if errors.Is(err, errKeyTaken) { // taken by a concurrent request
		known, _, err := s.MessageOfKey(ctx, m.Once)
		return known, err
	}
	if err == nil && refusal != "" {
		return message(stored), ingest.Refused(refusal, message(stored))
	}
	return message(stored), translate("store the message", err)
}

func putMessage(ctx context.Context, q *db.Queries, m ingest.NewMessage) (stored db.Message, refusal task.Code, err error) {
	target, err := messageSandbox(ctx, q, m)
	if err != nil {
		return stored, "", err
	}
	row := db.InsertMessageParams{
		ID: task.NewID(), SandboxID: m.SandboxID, Kind: m.Kind, Content: m.Content,
		SenderKind: m.SenderKind, SenderID: orNull(m.SenderID), State: ingest.MessageAccepted,
		KeyScope: orNull(m.Once.Scope), IdempotencyKey: orNull(m.Once.Key), BodyHash: m.Once.BodyHash,
	}
	if refusal, row.Reason, err = deafness(ctx, q, target); err != nil {
		return stored, "", err
	}
	if refusal != "" {
		row.State = messageNames().stored(ingest.MessageRejected)
	}
	if err := answerByMessage(ctx, q, m, refusal); err != nil {
		return stored, "", err
	}
	stored, err = q.InsertMessage(ctx, row)
	if errors.Is(err, pgx.ErrNoRows) {
		err = errKeyTaken
	}
	return stored, refusal, err
}

func checkMessage(m *ingest.NewMessage) error {
	m.Kind, m.SenderKind = cmp.Or(m.Kind, ingest.MessageUser), cmp.Or(m.SenderKind, ingest.SenderPerson)
	switch m.Kind {
	case ingest.MessageUser, ingest.MessageInterrupt, ingest.MessageNudge, ingest.MessageSystem:
	default:
		return task.Invalid("message_type", "The message type must be user_message, interrupt, guardian_nudge or system.")
	}
	switch {
	case m.Content == "":
		return task.Invalid("content", "The message must not be empty.")
	case len(m.Content) > ingest.MaxMessage:
		return task.Invalid("content", "The content has %d bytes, the limit is %d. Next: commit long texts to the repository and send their path",
			len(m.Content), ingest.MaxMessage)
	case strings.ContainsRune(m.Content, 0):
		return task.Invalid("content", "The message must not contain the character U+0000.")
	}
	return nil
}

// messageSandbox locks the sandbox of a message.
func messageSandbox(ctx context.Context, q *db.Queries, m ingest.NewMessage) (db.MessageSandboxRow, error) {
	row, err := q.MessageSandbox(ctx, m.SandboxID)
	if errors.Is(err, pgx.ErrNoRows) && m.Bare {
		if err := q.MakeBareSandboxes(ctx, []string{m.SandboxID}); err != nil {
			return row, err
		}
		row, err = q.MessageSandbox(ctx, m.SandboxID)
	}
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return row, task.Errorf(task.CodeNotFound, "Unknown sandbox %s.", m.SandboxID)
	case err == nil && !row.Ended && row.Open >= ingest.MaxOpenMessages:
		return row, task.Errorf(task.CodeExhausted, "%d messages already wait for this agent. Next: repeat when the agent has acknowledged some", row.Open).WithKind(task.KindQueueFull)
	}
	return row, err
}

// deafness returns why no agent will read a message in the sandbox; an empty code: an agent will.
func deafness(ctx context.Context, q *db.Queries, s db.MessageSandboxRow) (task.Code, string, error) {
	if s.Ended {
		code, why := afterTheEnd(s)
		return code, why, nil
	}
	left, err := q.AgentLeft(ctx, s.ID)
	if left {
		return task.CodeConflict, "The agent has exited and reads no more messages.", err
	}
	return "", "", err
}

func afterTheEnd(s db.MessageSandboxRow) (task.Code, string) {
	why := "The attempt has ended, and no later attempt is running."
	switch {
	case s.TaskStatus == "":
		why = "The attempt has ended."
	case task.Status(s.TaskStatus).Final():
		why = "The task is " + s.TaskStatus + "."
	case s.GoesOn:
		why = "The attempt has ended, and a later attempt runs in another sandbox."
	}
	switch task.SandboxState(s.State) {
	case task.SandboxGone:
		return task.CodeGone, why + " The sandbox is deleted."
	case task.SandboxLost:
		return task.CodeGone, why + " The sandbox is lost with its host."
	case task.SandboxIntended, task.SandboxCreating, task.SandboxRunning, task.SandboxDeleting:
	}
	return task.CodeConflict, why
}

// LeaseMessages leases messages of a sandbox, interrupts first, then in order of acceptance. A message that is not
// settled within the lease is delivered again. A legacy worker gets each message up to three times; then the message
// stays delivered.
func (s *Store) LeaseMessages(ctx context.Context, in ingest.Taking) ([]ingest.Message, error) {
	const most, times = 100, 3
	// Polls run every few seconds and mostly find no message, so the check takes no lock and writes nothing.
	due, err := s.q.MessagesDue(ctx, db.MessagesDueParams{SandboxID: in.SandboxID, Kind: in.Kind, Again: in.Poll})
	if err != nil || !due {
		return nil, translate("read whether messages are due", err)
	}
	taker := in.Poll
	if taker == "" && !in.Legacy {
		taker = "client" // shorter than any poll ID
	}
	rows, err := s.q.LeaseMessages(ctx, db.LeaseMessagesParams{
		SandboxID: in.SandboxID, Kind: in.Kind, Again: in.Poll, Taker: taker, Times: times, Reason: neverAcknowledged,
		Lease: cmp.Or(in.Lease, time.Minute).Seconds(),
		Most:  cmp.Or(in.Limit, most),
	})
	if err != nil {
		return nil, translate("lease messages", err)
	}
	rows = slices.DeleteFunc(rows, func(m db.Message) bool { return m.SettledAt != nil })
	slices.SortFunc(rows, byUrgency)
	return mapAll(rows, message), nil
}

func byUrgency(a, b db.Message) int {
	urgent := func(m db.Message) bool { return m.Kind == ingest.MessageInterrupt }
	switch {
	case urgent(a) != urgent(b) && urgent(a):
		return -1
	case urgent(a) != urgent(b):
		return 1
	}
	return cmp.Compare(task.Deref(a.Ordinal), task.Deref(b.Ordinal))
}

// AckMessage settles a message of a sandbox as acknowledged and reports whether the taker has won it; only the winner
// may use the message. A taker with a name can repeat the call and gets the same result. The result is false for a
// message of another sandbox and for an expired message.
func (s *Store) AckMessage(ctx context.Context, sandboxID, id, taker string) (won bool, err error) {
	if !uuidForm.MatchString(id) {
		return false, task.Errorf(task.CodeNotFound, "Unknown message %q.", id)
	}
	if len(taker) > ingest.MaxTakerName || strings.ContainsRune(taker, 0) {
		return false, task.Invalid("query.taker", "The consumer ID has %d bytes, the limit is %d, without U+0000.", len(taker), ingest.MaxTakerName)
	}
	rows, err := s.q.AckMessage(ctx, db.AckMessageParams{SandboxID: sandboxID, ID: id, Taker: taker})
	return rows > 0, translate("acknowledge the message", err)
}

// Message returns a message with its delivery receipt; [task.CodeNotFound] if there is none.
func (s *Store) Message(ctx context.Context, id string) (ingest.Message, error) {
	if !uuidForm.MatchString(id) {
		return ingest.Message{}, task.Errorf(task.CodeNotFound, "Unknown message %q.", id)
	}
	row, err := s.q.GetMessage(ctx, id)
	m := message(row.Message)
	m.OrganizationID, m.TaskID = task.Deref(row.OrganizationID), task.Deref(row.TaskID)
	return m, missing(translate("read the message", err), "Unknown message %q.", id)
}

func message(row db.Message) ingest.Message {
	return ingest.Message{
		ID: row.ID, SandboxID: row.SandboxID, Kind: row.Kind, Content: row.Content,
		SenderKind: row.SenderKind, SenderID: task.Deref(row.SenderID), State: messageNames().named(row.State), Reason: row.Reason,
		AcceptedAt: row.AcceptedAt, DeliveredAt: row.DeliveredAt, DeliveryCount: row.Deliveries,
		Allows: allows(row), Taker: row.Taker, SettledAt: row.SettledAt, AnsweredAt: row.AnsweredAt,
	}
}

// allows returns the ID of the refusal whose call a message allows; empty: none.
func allows(row db.Message) string {
	if task.Deref(row.KeyScope) != ingest.AllowScope+row.SandboxID {
		return ""
	}
	return task.Deref(row.IdempotencyKey)
}

// uuidForm matches what PostgreSQL accepts as a uuid.
var uuidForm = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// MessageOfKey returns the message that an earlier request with the same idempotency key created, if any; for a
// rejected message also its error. [task.CodeConflict] if the key was used with another body.
func (s *Store) MessageOfKey(ctx context.Context, once ingest.MessageKey) (m ingest.Message, found bool, err error) {
	if once.Key == "" {
		return ingest.Message{}, false, nil
	}
	row, found, err := maybe(s.q.MessageOfKey(ctx, once.Scope, once.Key))
	switch {
	case !found:
		return ingest.Message{}, false, translate("look up the idempotency key", err)
	case !bytes.Equal(row.Message.BodyHash, once.BodyHash):
		return ingest.Message{}, false, &task.Error{
			Code: task.CodeConflict, Kind: task.KindKeyReused, Field: "Idempotency-Key",
			Message: "The Idempotency-Key was used with another body, for message " + row.Message.ID + ". Next: use a new key for a new message",
		}
	}
	m = message(row.Message)
	if m.State == ingest.MessageRejected {
		return m, true, ingest.Refused(refusalIn(task.SandboxState(row.SandboxState)), m)
	}
	return m, true, nil
}

// refusalIn returns the code with which messages for a sandbox in this state are rejected.
func refusalIn(state task.SandboxState) task.Code {
	if state == task.SandboxGone || state == task.SandboxLost {
		return task.CodeGone
	}
	return task.CodeConflict
}
