package postgres

import (
	"bytes"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/ingest"
)

// What agents say of messages in their events. Old workers do not know the ids. $3 is the
// time of the event; null: now.
const (
	sqlInjectedByID = `UPDATE messages SET state = CASE WHEN state = 'answered' THEN state ELSE 'taken_up' END, injected = true,
			settled_at = coalesce(settled_at, $3, now()), lease_until = NULL, reason = ''
		WHERE sandbox_id = $1 AND id = $2::uuid AND state IN ('accepted', 'delivered', 'taken_up', 'answered')`
	sqlInjectedByContent = `UPDATE messages SET state = 'taken_up', injected = true, settled_at = coalesce($3, now()), lease_until = NULL,
			reason = ''
		WHERE id = (SELECT id FROM messages WHERE sandbox_id = $1 AND content = $2 AND state = 'delivered'
			ORDER BY ordinal LIMIT 1)`
	sqlAnsweredByID = `UPDATE messages SET state = 'answered', answered_at = coalesce($3, now()),
			settled_at = coalesce(settled_at, $3, now()), lease_until = NULL, reason = ''
		WHERE sandbox_id = $1 AND id = $2::uuid AND state IN ('accepted', 'delivered', 'taken_up')`
	sqlAnsweredInterrupt = `UPDATE messages SET state = 'answered', answered_at = coalesce($3, now()),
			settled_at = coalesce(settled_at, $3, now()), lease_until = NULL, reason = ''
		WHERE id = (SELECT id FROM messages WHERE sandbox_id = $1 AND content = $2 AND state = 'delivered'
			AND kind = 'interrupt' ORDER BY ordinal LIMIT 1)`
	// Feedback that it told is held again, also where somebody has seen by now that it was taken up.
	sqlDroppedByID = `WITH dropped AS (
			UPDATE messages SET state = 'expired', settled_at = coalesce($3, now()),
				reason = 'The agent ended before it could use the message.'
			WHERE sandbox_id = $1 AND id = $2::uuid AND state = 'taken_up' RETURNING id)
		UPDATE feedback SET state = 'held', due_at = now(), message_id = NULL, task_id = NULL
		WHERE message_id = (SELECT id FROM dropped) AND state IN ('sent', 'heard')`
	// An agent that was stopped from outside may be started again.
	sqlAgentLeft = `WITH box AS (INSERT INTO agent_shutdowns VALUES ($1, coalesce($2, now())) ON CONFLICT DO NOTHING)
		UPDATE messages SET state = 'expired', settled_at = coalesce($2, now()), lease_until = NULL,
			reason = 'The agent left before it took the message up.'
		WHERE sandbox_id = $1 AND state IN ('accepted', 'delivered') AND settled_at IS NULL`
	sqlAgentBack     = `DELETE FROM agent_shutdowns WHERE sandbox_id = $1`
	sqlAnsweredThese = `UPDATE messages SET state = 'answered', answered_at = coalesce($2, now())
		WHERE sandbox_id = $1 AND state = 'taken_up' AND id = ANY ($3::uuid[])`
	// Old workers name none, and win none by a name.
	sqlAnsweredAll = `UPDATE messages SET state = 'answered', answered_at = coalesce($2, now())
		WHERE sandbox_id = $1 AND state = 'taken_up' AND injected AND taker = ''`
	// A legacy worker that waits again and did not confirm what it was given will not: a later confirmation still counts.
	sqlNeverConfirmed = `UPDATE messages SET settled_at = coalesce($2, now()), lease_until = NULL, reason = '` + neverAcknowledged + `'
		WHERE sandbox_id = $1 AND state = 'delivered' AND settled_at IS NULL AND leased_by = ''`
)

// neverAcknowledged is the reason of a message that a legacy worker was given and never confirmed.
const neverAcknowledged = "Delivered, never acknowledged: the worker does not confirm what it injects."

// queueMessages settles the messages that new events speak of, in the order of the events.
func (p *eventPlan) queueMessages(batch *pgx.Batch) {
	for _, row := range p.rows {
		q := messageNews{batch: batch, sandboxID: row.sandbox.id, at: timeOr(p.now)}
		switch row.event.Type {
		case event.AgentMessageInjected:
			d := delivery(row.event)
			q.settle(sqlInjectedByID, d.MessageID, sqlInjectedByContent, d.Content)
		case event.AgentMessageDropped:
			q.settle(sqlDroppedByID, delivery(row.event).MessageID, "", "")
		case event.AgentInterrupted:
			d := delivery(row.event)
			q.settle(sqlAnsweredByID, d.MessageID, sqlAnsweredInterrupt, d.Reason)
		case event.AgentWaiting:
			q.waits(delivery(row.event).Answered)
		case event.AgentShutdown:
			if reason := delivery(row.event).Reason; reason != "sigterm" && reason != "gone" {
				batch.Queue(sqlAgentLeft, q.sandboxID, q.at)
			}
		case event.AgentStarted:
			batch.Queue(sqlAgentBack, q.sandboxID)
		case event.AgentMessage:
			if bytes.Contains(row.event.Data, []byte("in_reply_to")) {
				q.settle(sqlAnsweredByID, delivery(row.event).InReplyTo, "", "")
			}
		}
	}
}

func delivery(e ingest.Event) event.Delivery { return event.Read[event.Delivery](e.Parts()...) }

// messageNews is what one event tells of messages.
type messageNews struct {
	batch     *pgx.Batch
	sandboxID string
	at        *time.Time // null: now
}

// mostAnswered is how many messages one event answers; an agent names them as they come.
const mostAnswered = 1000

// waits settles the messages that an agent names which waits again.
func (q messageNews) waits(answered []string) {
	if answered == nil {
		q.batch.Queue(sqlAnsweredAll, q.sandboxID, q.at)
		q.batch.Queue(sqlNeverConfirmed, q.sandboxID, q.at)
		return
	}
	ids := slices.DeleteFunc(answered[:min(len(answered), mostAnswered)], func(id string) bool { return !uuidForm.MatchString(id) })
	if len(ids) > 0 {
		q.batch.Queue(sqlAnsweredThese, q.sandboxID, q.at, ids)
	}
}

// settle goes by the id, or by the text where there is none.
func (q messageNews) settle(byID, id, byText, text string) {
	switch {
	case uuidForm.MatchString(id):
		q.batch.Queue(byID, q.sandboxID, id, q.at)
	case text != "" && byText != "":
		q.batch.Queue(byText, q.sandboxID, text, q.at)
	}
}
