package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// casesTries is how many of the newest attempts of a case come with their events.
const casesTries = 5

// TakeLooks takes tasks in which something failed, at most so many; nobody else takes them until lease is over.
func (s *Store) TakeLooks(ctx context.Context, lease time.Duration, most int) ([]task.Look, error) {
	rows, err := s.q.TakeLooks(ctx, lease, int32(most)) //nolint:gosec // G115: a few
	return mapAll(rows, func(r db.TakeLooksRow) task.Look { return task.Look{TaskID: r.TaskID, Changed: r.Changed} }), translate("take failures to look at", err)
}

// SettleLook says that a failure was looked at; one that came meanwhile is looked at again.
func (s *Store) SettleLook(ctx context.Context, l task.Look) error {
	return translate("settle a look at task "+l.TaskID, s.q.SettleLook(ctx, l.TaskID, l.Changed))
}

// Case answers what is known of a task that has failed: of its newest attempts so many events each.
func (s *Store) Case(ctx context.Context, taskID string, newest int) (task.Case, error) {
	row, err := s.q.CaseOf(ctx, taskID)
	if err != nil {
		return task.Case{}, missing(translate("read the case of task "+taskID, err), "There is no task %s.", taskID)
	}
	c := task.Case{At: row.At.UTC(), TicketFailures: int(row.TicketFailures), Diagnoses: int(row.Diagnoses), Diagnosed: int(row.Diagnosed)}
	if c.Task, err = s.Task(ctx, row.OrganizationID, taskID); err != nil {
		return c, err
	}
	feeds, err := s.feeds(ctx, c.Task.Attempts[max(0, len(c.Task.Attempts)-casesTries):], newest)
	for _, a := range c.Task.Attempts {
		c.Tries = append(c.Tries, task.CaseTry{Attempt: a, Feed: feeds[a.SandboxID]})
	}
	return c, err
}

// feeds answers the newest events of attempts by their sandboxes, oldest first.
func (s *Store) feeds(ctx context.Context, attempts []task.Attempt, newest int) (map[string][]task.Event, error) {
	ids := mapAll(attempts, func(a task.Attempt) string { return a.SandboxID })
	rows, err := s.q.SandboxHeads(ctx, ids)
	if err != nil {
		return nil, translate("read the newest events of attempts", err)
	}
	of := mapAll(rows, func(r db.SandboxHeadsRow) task.Watched {
		return task.Watched{SandboxID: r.ID, Birth: r.Birth, Head: r.Head}
	})
	return s.WatchedEvents(ctx, of, newest)
}

// SaveDiagnosis stores a diagnosis, unless this failure has one, with the webhook that tells of it (none: an empty
// body) and the note that the failure was looked at, all or nothing.
func (s *Store) SaveDiagnosis(ctx context.Context, l task.Look, d task.Diagnosis, deliveryID, body string) (saved bool, err error) {
	said, err := json.Marshal(d)
	if err != nil {
		return false, fmt.Errorf("write the diagnosis of task %s: %w", d.TaskID, err)
	}
	err = s.inTx(ctx, func(q *db.Queries, _ pgx.Tx) error {
		n, err := q.InsertDiagnosis(ctx, db.InsertDiagnosisParams{
			ID: d.ID, OrganizationID: d.OrganizationID, ProjectID: d.ProjectID, TicketID: d.TicketID, TaskID: d.TaskID,
			Attempt: int32(d.Attempt), Kind: d.Kind, FailureClass: string(d.FailureClass), SpokenBy: d.SpokenBy, //nolint:gosec // G115: at most task.MaxAttempts
			Said: json.RawMessage(storable(string(said))), Notice: d.Notice,
		})
		if saved = n > 0; err != nil || !saved {
			return errors.Join(err, q.SettleLook(ctx, l.TaskID, l.Changed))
		}
		if err := q.DropNotices(ctx, d.TaskID, d.ID); err != nil {
			return err
		}
		if body != "" {
			if err := q.InsertDelivery(ctx, db.InsertDeliveryParams{ID: deliveryID, DiagnosisID: d.ID, Body: storable(body)}); err != nil {
				return err
			}
		}
		return q.SettleLook(ctx, l.TaskID, l.Changed)
	})
	return saved, translate("store the diagnosis of task "+d.TaskID, err)
}

// Diagnoses lists those of an organization, newest first.
func (s *Store) Diagnoses(ctx context.Context, organizationID string, query task.GuardianQuery) (task.Page[task.Diagnosis], error) {
	at, id, err := decodeCursor(query.Cursor)
	if err != nil {
		return task.Page[task.Diagnosis]{}, err
	}
	rows, err := s.q.Diagnoses(ctx, db.DiagnosesParams{
		OrganizationID: organizationID, TaskID: idOr(query.TaskID), BeforeAt: at, BeforeID: id, MaxRows: rowsOf(query.PageRequest),
	})
	page := cutPage(mapAll(rows, diagnosisOf), query.Limit, func(d task.Diagnosis) string { return encodeCursor(d.CreatedAt, d.ID) })
	return page, translate("list diagnoses", err)
}

func diagnosisOf(r db.DiagnosesRow) task.Diagnosis {
	var d task.Diagnosis
	_ = json.Unmarshal(r.Diagnosis.Said, &d) // ours
	d.ID, d.CreatedAt, d.Notice, d.MessageID = r.Diagnosis.ID, r.Diagnosis.CreatedAt.UTC(), r.Diagnosis.Notice, textOr(r.Diagnosis.MessageID)
	if d.Evidence == nil {
		d.Evidence = []task.Sign{}
	}
	if r.DeliveryID != "" {
		d.Webhook = &task.Delivery{ID: r.DeliveryID, State: r.DeliveryState, Tries: int(r.Tries), Error: r.DeliveryError, DeliveredAt: r.DeliveredAt}
	}
	return d
}

// TellNotices tells the agents of later attempts what was diagnosed of earlier ones, and answers their sandboxes. Each
// diagnosis is told once: the message and the note that it was written are one transaction.
func (s *Store) TellNotices(ctx context.Context, most int) ([]string, error) {
	held, err := s.q.HeldNotices(ctx, int32(most)) //nolint:gosec // G115: a few
	if err != nil {
		return nil, translate("look for diagnoses to tell", err)
	}
	var told []string
	var errs []error
	for _, row := range held {
		done := false
		err := s.inTx(ctx, func(q *db.Queries, _ pgx.Tx) (err error) {
			done, err = tellNotice(ctx, q, row)
			return err
		})
		if done {
			told = append(told, row.SandboxID)
		}
		errs = append(errs, translate("tell the diagnosis of task "+row.TaskID, err))
	}
	return told, errors.Join(errs...)
}

// tellNotice waits where nobody listens: a validator, an agent that has left, one with too much to read.
func tellNotice(ctx context.Context, q *db.Queries, row db.HeldNoticesRow) (bool, error) {
	w := settling{q: q, chain: db.FeedbackChainRow{Task: db.Task{ID: row.TaskID, SandboxID: &row.SandboxID}}}
	listens, err := w.listens(ctx)
	if err != nil || !listens {
		return false, err
	}
	said, err := q.LockNotice(ctx, row.ID)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil // somebody else has told it
	}
	if err != nil {
		return false, err
	}
	var d task.Diagnosis
	if err := json.Unmarshal(said, &d); err != nil {
		return false, fmt.Errorf("read diagnosis %s: %w", row.ID, err)
	}
	m, err := q.InsertMessage(ctx, db.InsertMessageParams{
		ID: task.NewID(), SandboxID: row.SandboxID, Kind: ingest.MessageSystem, Content: d.ToAgent(), SenderKind: ingest.SenderSystem,
		SenderID: orNil(diagnosisSender), State: ingest.MessageAccepted,
	})
	if err != nil {
		return false, err
	}
	return true, q.SettleNotice(ctx, db.SettleNoticeParams{Notice: task.NoticeSent, MessageID: &m.ID, ID: row.ID})
}

// diagnosisSender is who speaks in those messages.
const diagnosisSender = "diagnosis"

// TakeDeliveries takes webhooks that are due, at most so many; nobody else takes them until lease is over.
func (s *Store) TakeDeliveries(ctx context.Context, lease time.Duration, most int) ([]task.DueDelivery, error) {
	rows, err := s.q.TakeDeliveries(ctx, lease, int32(most)) //nolint:gosec // G115: a few
	return mapAll(rows, func(r db.TakeDeliveriesRow) task.DueDelivery {
		return task.DueDelivery{ID: r.ID, Body: r.Body, Tries: int(r.Tries), Age: age(r.Age)}
	}), translate("take webhooks to send", err)
}

// SettleDelivery notes what became of a try; one that stays held is due again after pause.
func (s *Store) SettleDelivery(ctx context.Context, id, state, problem string, pause time.Duration) error {
	return translate("settle webhook "+id, s.q.SettleDelivery(ctx, db.SettleDeliveryParams{State: state, Error: storable(problem), Pause: pause, ID: id}))
}
