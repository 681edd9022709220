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

// neverAcknowledged is the reason of a message that a legacy worker received and never acknowledged.
const neverAcknowledged = "Delivered, never acknowledged: the worker does not acknowledge messages."

// queueMessages settles the messages that new events name, in order of the events: by ID, or by text for legacy
// workers, which send no ID. An ID that is not a UUID is ignored, because its cast would fail the whole batch.
func (p *eventPlan) queueMessages(ctx context.Context, q *db.Queries) {
	at := timeOr(p.now)
	for n, row := range p.rows {
		box := row.sandbox.id
		switch row.event.Type {
		case event.AgentMessageInjected:
			queueInjected(ctx, q, box, at, delivery(row.event))
		case event.AgentMessageDropped:
			if d := delivery(row.event); uuidForm.MatchString(d.MessageID) {
				_ = q.DroppedByID(ctx, db.DroppedByIDParams{SandboxID: box, ID: d.MessageID, At: at})
			}
		case event.AgentInterrupted:
			queueInterrupted(ctx, q, box, at, delivery(row.event))
		case event.AgentWaiting:
			p.queueWaiting(ctx, q, n, at)
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

// queueWaiting settles the messages that a waiting agent has answered, and notes that the agent waits, unless it works
// again in the same batch.
func (p *eventPlan) queueWaiting(ctx context.Context, q *db.Queries, n int, at *time.Time) {
	row, box := p.rows[n], p.rows[n].sandbox.id
	d := delivery(row.event)
	queueAnswered(ctx, q, box, at, d.Answered)
	queueQuestion(ctx, q, row, d)
	if !worksAgain(p.rows[n+1:], box) {
		_ = q.NoteAgentWaits(ctx, db.NoteAgentWaitsParams{SandboxID: box, At: at, Sequence: row.sequence})
	}
}

func queueInjected(ctx context.Context, q *db.Queries, box string, at *time.Time, d event.Delivery) {
	switch {
	case uuidForm.MatchString(d.MessageID):
		_ = q.InjectedByID(ctx, db.InjectedByIDParams{SandboxID: box, ID: d.MessageID, At: at})
	case d.Content != "":
		_ = q.InjectedByContent(ctx, db.InjectedByContentParams{SandboxID: box, Content: d.Content, At: at})
	}
}

func queueInterrupted(ctx context.Context, q *db.Queries, box string, at *time.Time, d event.Delivery) {
	switch {
	case uuidForm.MatchString(d.MessageID):
		_ = q.AnsweredByID(ctx, db.AnsweredByIDParams{SandboxID: box, ID: d.MessageID, At: at})
	case d.Reason != "":
		_ = q.AnsweredInterrupt(ctx, db.AnsweredInterruptParams{SandboxID: box, Content: d.Reason, At: at})
	}
}

// worksAgain reports whether one of the events is work in a sandbox.
func worksAgain(rows []eventRow, box string) bool {
	return slices.ContainsFunc(rows, func(row eventRow) bool { return row.sandbox.id == box && event.Is(row.event.Type, event.Work) })
}

func delivery(e ingest.Event) event.Delivery { return event.Read[event.Delivery](e.Parts()...) }

// mostAnswered is the maximum of messages that one event answers.
const mostAnswered = 1000

// queueAnswered settles the messages that a waiting agent names. Legacy workers name none (answered is nil).
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
