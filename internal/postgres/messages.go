package postgres

import (
	"cmp"
	"context"
	"encoding/json"
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

// AcceptMessage stores a message for the agent of a sandbox. Where the attempt has ended
// the message is stored as refused, with the reason. Errors: [task.CodeInvalid],
// [task.CodeNotFound] for an unknown sandbox unless it may be bare, [task.CodeGone] an
// hour after it is verified gone.
func (s *Store) AcceptMessage(ctx context.Context, m ingest.NewMessage) (ingest.Message, error) {
	if err := checkMessage(&m); err != nil {
		return ingest.Message{}, err
	}
	target, err := s.messageSandbox(ctx, m)
	if err != nil {
		return ingest.Message{}, translate("find the message's sandbox", err)
	}
	row := db.InsertMessageParams{
		ID: task.NewID(), SandboxID: m.SandboxID, Kind: m.Kind, Content: m.Content,
		SenderKind: m.SenderKind, State: ingest.MessageAccepted,
	}
	if m.SenderID != "" {
		row.SenderID = &m.SenderID
	}
	if target.Ended {
		row.State, row.Reason = ingest.MessageRefused, "The attempt has ended; nobody listens any more."
	}
	stored, err := s.q.InsertMessage(ctx, row)
	return message(stored), translate("store the message", err)
}

func checkMessage(m *ingest.NewMessage) error {
	m.Kind = orDefault(m.Kind, ingest.MessageUser)
	m.SenderKind = orDefault(m.SenderKind, "person")
	switch m.Kind {
	case ingest.MessageUser, ingest.MessageInterrupt, ingest.MessageNudge, ingest.MessageSystem:
	default:
		return task.Invalid("message_type", "The message type must be user_message, interrupt, guardian_nudge or system.")
	}
	switch {
	case m.Content == "":
		return task.Invalid("content", "The message must not be empty.")
	case strings.ContainsRune(m.Content, 0):
		return task.Invalid("content", "The message must not contain the character U+0000.")
	}
	return nil
}

func (s *Store) messageSandbox(ctx context.Context, m ingest.NewMessage) (db.MessageSandboxRow, error) {
	row, err := s.q.MessageSandbox(ctx, m.SandboxID)
	if errors.Is(err, pgx.ErrNoRows) && m.Bare {
		if _, err := s.pool.Exec(ctx, sqlBareSandboxes, []string{m.SandboxID}); err != nil {
			return row, err
		}
		return s.q.MessageSandbox(ctx, m.SandboxID)
	}
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return row, task.Errorf(task.CodeNotFound, "There is no sandbox %s.", m.SandboxID)
	case err == nil && row.Over:
		return row, task.Errorf(task.CodeGone, "Sandbox %s is gone.", m.SandboxID)
	}
	return row, err
}

// LeaseMessages gives out at most limit messages of a sandbox, interrupts first, then in the
// order in which they were accepted. What is not settled within the lease is given out
// again. Where the attempt has ended, what still waits expires. Zero: 60 s, 100 messages.
func (s *Store) LeaseMessages(ctx context.Context, sandboxID string, lease time.Duration, limit int) ([]ingest.Message, error) {
	const most = 100
	if _, err := s.q.ExpireMessages(ctx, sandboxID); err != nil {
		return nil, translate("expire messages", err)
	}
	rows, err := s.q.LeaseMessages(ctx, db.LeaseMessagesParams{
		SandboxID: sandboxID, Lease: orDefault(lease, time.Minute).Seconds(),
		Most: int32(orDefault(limit, most)), //nolint:gosec // G115: small by the API's bounds
	})
	if err != nil {
		return nil, translate("lease messages", err)
	}
	slices.SortFunc(rows, byUrgency)
	messages := make([]ingest.Message, 0, len(rows))
	for _, row := range rows {
		messages = append(messages, message(row))
	}
	return messages, nil
}

func byUrgency(a, b db.Message) int {
	urgent := func(m db.Message) bool { return m.Kind == ingest.MessageInterrupt }
	switch {
	case urgent(a) != urgent(b) && urgent(a):
		return -1
	case urgent(a) != urgent(b):
		return 1
	}
	return cmp.Compare(deref(a.Ordinal), deref(b.Ordinal))
}

// AckMessages settles messages of a sandbox as taken up and answers how many were open.
// Ids of other sandboxes and of settled messages are passed over.
func (s *Store) AckMessages(ctx context.Context, sandboxID string, ids []string) (int, error) {
	for _, id := range ids {
		if !uuidForm.MatchString(id) {
			return 0, task.Invalid("ids", "%q is no message id.", id)
		}
	}
	settled, err := s.q.AckMessages(ctx, sandboxID, ids)
	return int(settled), translate("acknowledge messages", err)
}

// Message answers a message and its receipt; [task.CodeNotFound] if there is none. A
// message that nobody can take up any more expires here, if not before.
func (s *Store) Message(ctx context.Context, id string) (ingest.Message, error) {
	if !uuidForm.MatchString(id) {
		return ingest.Message{}, task.Errorf(task.CodeNotFound, "There is no message %q.", id)
	}
	row, err := s.q.GetMessage(ctx, id)
	if err == nil && (row.State == ingest.MessageAccepted || row.State == ingest.MessageDelivered) {
		if _, err = s.q.ExpireMessages(ctx, row.SandboxID); err == nil {
			row, err = s.q.GetMessage(ctx, id)
		}
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return ingest.Message{}, task.Errorf(task.CodeNotFound, "There is no message %q.", id)
	}
	return message(row), translate("read the message", err)
}

func message(row db.Message) ingest.Message {
	return ingest.Message{
		ID: row.ID, SandboxID: row.SandboxID, Kind: row.Kind, Content: row.Content,
		SenderKind: row.SenderKind, SenderID: deref(row.SenderID), State: row.State, Reason: row.Reason,
		AcceptedAt: row.AcceptedAt, DeliveredAt: row.DeliveredAt, Deliveries: int(row.Deliveries), SettledAt: row.SettledAt,
	}
}

// uuidForm is what the type uuid takes without a data error.
var uuidForm = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// An agent says that it has taken a message up. Old workers do not know the id.
const (
	sqlTakenUpByID = `UPDATE messages SET state = 'taken_up', settled_at = coalesce($3, now()), lease_until = NULL
		WHERE sandbox_id = $1 AND id = $2::uuid AND state IN ('accepted', 'delivered')`
	sqlTakenUpByContent = `UPDATE messages SET state = 'taken_up', settled_at = coalesce($3, now()), lease_until = NULL
		WHERE id = (SELECT id FROM messages WHERE sandbox_id = $1 AND content = $2 AND state = 'delivered'
			ORDER BY ordinal LIMIT 1)`
)

// queueMessages settles the messages that new events speak of.
func (p *eventPlan) queueMessages(batch *pgx.Batch) {
	for _, row := range p.rows {
		if row.event.Type != task.EventAgentMessageInjected {
			continue
		}
		var said struct {
			ID      any `json:"message_id"`
			Content any `json:"content"`
		}
		if json.Unmarshal(row.event.Data, &said) != nil {
			continue
		}
		id, _ := said.ID.(string)
		content, _ := said.Content.(string)
		switch {
		case uuidForm.MatchString(id):
			batch.Queue(sqlTakenUpByID, row.sandbox.id, id, timeOr(p.now))
		case content != "":
			batch.Queue(sqlTakenUpByContent, row.sandbox.id, content, timeOr(p.now))
		}
	}
}
