package postgres

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres/db"
)

// neverAcknowledged is the reason of a message that a legacy worker was given and never confirmed.
const neverAcknowledged = "Delivered, never acknowledged: the worker does not confirm what it injects."

// queueMessages settles the messages that new events speak of, in the order of the events. It goes by the ID, or by the text where
// an old worker tells none. Only what has the form of a UUID may reach a query by ID: its cast would fail the whole batch.
func (p *eventPlan) queueMessages(ctx context.Context, q *db.Queries) {
	at := timeOr(p.now)
	for _, row := range p.rows {
		box := row.sandbox.id
		switch row.event.Type {
		case event.AgentMessageInjected:
			if d := delivery(row.event); uuidForm.MatchString(d.MessageID) {
				_ = q.InjectedByID(ctx, db.InjectedByIDParams{SandboxID: box, ID: d.MessageID, At: at})
			} else if d.Content != "" {
				_ = q.InjectedByContent(ctx, db.InjectedByContentParams{SandboxID: box, Content: d.Content, At: at})
			}
		case event.AgentMessageDropped:
			if d := delivery(row.event); uuidForm.MatchString(d.MessageID) {
				_ = q.DroppedByID(ctx, db.DroppedByIDParams{SandboxID: box, ID: d.MessageID, At: at})
			}
		case event.AgentInterrupted:
			if d := delivery(row.event); uuidForm.MatchString(d.MessageID) {
				_ = q.AnsweredByID(ctx, db.AnsweredByIDParams{SandboxID: box, ID: d.MessageID, At: at})
			} else if d.Reason != "" {
				_ = q.AnsweredInterrupt(ctx, db.AnsweredInterruptParams{SandboxID: box, Content: d.Reason, At: at})
			}
		case event.AgentWaiting:
			queueAnswered(ctx, q, box, at, delivery(row.event).Answered)
		case event.AgentShutdown:
			if reason := delivery(row.event).Reason; reason != "sigterm" && reason != "gone" {
				_ = q.NoteAgentLeft(ctx, at, box)
			}
		case event.AgentStarted:
			_ = q.NoteAgentBack(ctx, box)
		case event.AgentMessage:
			if bytes.Contains(row.event.Data, []byte("in_reply_to")) {
				if id := delivery(row.event).InReplyTo; uuidForm.MatchString(id) {
					_ = q.AnsweredByID(ctx, db.AnsweredByIDParams{SandboxID: box, ID: id, At: at})
				}
			}
		}
	}
}

func delivery(e ingest.Event) event.Delivery { return event.Read[event.Delivery](e.Parts()...) }

// mostAnswered is how many messages one event answers; an agent names them as they come.
const mostAnswered = 1000

// queueAnswered settles the messages that an agent names which waits again; an old worker names none.
func queueAnswered(ctx context.Context, q *db.Queries, box string, at *time.Time, answered []string) {
	if answered == nil {
		_ = q.AnsweredAll(ctx, at, box)
		_ = q.NeverConfirmed(ctx, db.NeverConfirmedParams{SandboxID: box, Reason: neverAcknowledged, At: at})
		return
	}
	ids := slices.DeleteFunc(answered[:min(len(answered), mostAnswered)], func(id string) bool { return !uuidForm.MatchString(id) })
	if len(ids) > 0 {
		_ = q.AnsweredThese(ctx, db.AnsweredTheseParams{SandboxID: box, Ids: ids, At: at})
	}
}
