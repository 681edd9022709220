package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/diagnosis"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/task"
)

// casesTries is the number of newest attempts that are read with their events.
const casesTries = 5

// LeaseDiagnosisRequests returns up to most due requests and leases them.
func (s *Store) LeaseDiagnosisRequests(ctx context.Context, lease time.Duration, most int) ([]diagnosis.Request, error) {
	rows, err := s.q.LeaseDiagnosisRequests(ctx, lease, most)
	return mapAll(rows, func(r db.LeaseDiagnosisRequestsRow) diagnosis.Request { return diagnosis.Request(r) }), translate("lease diagnosis requests", err)
}

// SettleDiagnosisRequest deletes a request, unless the task has failed again since the lease.
func (s *Store) SettleDiagnosisRequest(ctx context.Context, l diagnosis.Request) error {
	return translate("settle the diagnosis request of task "+l.TaskID, s.q.SettleDiagnosisRequest(ctx, l.TaskID, l.Changed))
}

// Case returns the input of a task's diagnosis, with up to newest events of each of the newest attempts.
func (s *Store) Case(ctx context.Context, taskID string, newest int) (supervise.DiagnosisInput, error) {
	row, err := s.q.CaseOf(ctx, taskID)
	if err != nil {
		return supervise.DiagnosisInput{}, missing(translate("read the diagnosis input of task "+taskID, err), "There is no task %s.", taskID)
	}
	c := supervise.DiagnosisInput{At: row.At.UTC(), TicketFailures: row.TicketFailures, Diagnoses: row.Diagnoses, Diagnosed: row.Diagnosed}
	if c.Task, err = s.Task(ctx, row.OrganizationID, taskID); err != nil {
		return c, err
	}
	feeds, err := s.feeds(ctx, c.Task.Attempts[max(0, len(c.Task.Attempts)-casesTries):], newest)
	if err != nil {
		return c, err
	}
	by, err := s.interrupters(ctx, mapAll(c.Task.Attempts, func(a task.Attempt) string { return a.SandboxID }))
	for _, a := range c.Task.Attempts {
		c.Tries = append(c.Tries, supervise.DiagnosedAttempt{Attempt: a, TaskID: taskID, Feed: feeds[a.SandboxID], InterruptedBy: by[a.SandboxID]})
	}
	return c, err
}

// feeds returns the newest events of attempts by sandbox, oldest first.
func (s *Store) feeds(ctx context.Context, attempts []task.Attempt, newest int) (map[string][]event.Event, error) {
	ids := mapAll(attempts, func(a task.Attempt) string { return a.SandboxID })
	rows, err := s.q.SandboxHeads(ctx, ids)
	if err != nil {
		return nil, translate("read the newest events of attempts", err)
	}
	of := mapAll(rows, func(r db.SandboxHeadsRow) guardian.Watched {
		return guardian.Watched{SandboxID: r.ID, PartitionMonth: r.PartitionMonth, Head: r.LastSequence}
	})
	return s.WatchedEvents(ctx, of, newest)
}

// endsOfTicket is the number of ends of a ticket's tasks that are read.
const endsOfTicket = 50

// TicketEnds returns the newest ends of a ticket's tasks.
func (s *Store) TicketEnds(ctx context.Context, ticketID string) (supervise.TicketEnds, error) {
	rows, err := s.q.TicketEnds(ctx, ticketID, endsOfTicket)
	if err != nil {
		return supervise.TicketEnds{}, translate("read the ends of ticket "+ticketID, err)
	}
	said, err := s.q.TicketDiagnosed(ctx, ticketID)
	return supervise.TicketEnds{
		Ends: mapAll(rows, func(r db.TicketEndsRow) supervise.TicketEnd {
			return supervise.TicketEnd{TaskID: r.TaskID, Failed: r.Failed, At: r.EndedAt.UTC()}
		}),
		Diagnoses: said.Diagnoses, Upto: said.Upto.UTC(),
	}, translate("read the diagnoses of ticket "+ticketID, err)
}

// SaveDiagnoses stores the diagnoses of a failure with their webhooks, and settles the request, in one transaction.
// Ends that already have a diagnosis are skipped. SaveDiagnoses returns the IDs of the stored diagnoses.
func (s *Store) SaveDiagnoses(ctx context.Context, l diagnosis.Request, all []diagnosis.KeptDiagnosis) ([]string, error) {
	saved, err := txResult(ctx, s, func(q *db.Queries) (saved []string, err error) {
		for _, d := range all {
			fresh, err := saveDiagnosis(ctx, q, d)
			if err != nil {
				return nil, err
			}
			if fresh {
				saved = append(saved, d.ID)
			}
		}
		return saved, q.SettleDiagnosisRequest(ctx, l.TaskID, l.Changed)
	})
	return saved, translate("store the diagnoses of task "+l.TaskID, err)
}

// saveDiagnosis returns false if the end already has a diagnosis. A newer diagnosis of a task withdraws notices that
// were not sent yet.
func saveDiagnosis(ctx context.Context, q *db.Queries, d diagnosis.KeptDiagnosis) (bool, error) {
	ended := time.Unix(0, 0)
	if d.EndedAt != nil {
		ended = *d.EndedAt
	}
	n, err := q.InsertDiagnosis(ctx, db.InsertDiagnosisParams{
		ID: d.ID, OrganizationID: d.OrganizationID, ProjectID: d.ProjectID, TicketID: d.TicketID, TaskID: d.TaskID, EndedAt: ended,
		Attempt: d.Attempt, Kind: d.Kind, Said: json.RawMessage(storable(string(jsonOf(storedForm(d.Diagnosis))))), Notice: feedbackNames().stored(d.Notice),
	})
	if err != nil || n == 0 {
		return false, err
	}
	if d.Kind != explain.DiagnosisTicket {
		err = q.DropNotices(ctx, d.TaskID, d.ID)
	}
	if err == nil && d.Body != "" {
		err = q.InsertDelivery(ctx, db.InsertDeliveryParams{ID: d.DeliveryID, DiagnosisID: &d.ID, Body: storable(d.Body)})
	}
	return true, err
}

// Diagnoses lists the diagnoses of an organization, newest first.
func (s *Store) Diagnoses(ctx context.Context, organizationID string, query client.DiagnosisQuery) (client.Page[explain.Diagnosis], error) {
	page, err := pageOf(query.PageRequest, func(p place) ([]db.DiagnosesRow, error) {
		return s.q.Diagnoses(ctx, db.DiagnosesParams{
			OrganizationID: organizationID, TaskIds: query.TaskIDs, TicketIds: query.TicketIDs, BeforeAt: p.at, BeforeID: p.id, MaxRows: p.rows,
		})
	}, diagnosisOf, func(d explain.Diagnosis) (time.Time, string) { return d.CreatedAt, d.ID })
	return page, translate("list diagnoses", err)
}

func diagnosisOf(r db.DiagnosesRow) explain.Diagnosis {
	var stored storedDiagnosis
	_ = json.Unmarshal(r.Diagnosis.Said, &stored) // omoi wrote the value
	d := stored.diagnosis()
	d.ID, d.CreatedAt, d.Notice, d.MessageID = r.Diagnosis.ID, r.Diagnosis.CreatedAt.UTC(), feedbackNames().named(r.Diagnosis.Notice), task.Deref(r.Diagnosis.MessageID)
	if d.Evidence == nil {
		d.Evidence = []explain.Evidence{}
	}
	if r.DeliveryID != "" {
		d.Webhook = &explain.Delivery{ID: r.DeliveryID, State: deliveryNames().named(r.DeliveryState), Attempts: r.Tries, Error: r.DeliveryError, DeliveredAt: r.DeliveredAt}
	}
	return d
}

// TellNotices sends diagnoses of earlier attempts to the agents of later ones, and returns their sandboxes. The message
// and its record are one transaction, so each diagnosis is sent once.
func (s *Store) TellNotices(ctx context.Context, most int) ([]string, error) {
	held, err := s.q.HeldNotices(ctx, most)
	if err != nil {
		return nil, translate("list pending notices", err)
	}
	var told []string
	var errs []error
	for _, row := range held {
		done, err := txResult(ctx, s, func(q *db.Queries) (bool, error) { return tellNotice(ctx, q, row) })
		if done && err == nil {
			told = append(told, row.SandboxID)
		}
		errs = append(errs, translate("send the diagnosis of task "+row.TaskID, err))
	}
	return told, errors.Join(errs...)
}

// tellNotice returns false if the notice must wait: the agent is a validator, has left, or has too many open messages.
func tellNotice(ctx context.Context, q *db.Queries, row db.HeldNoticesRow) (bool, error) {
	w := settling{q: q, chain: db.FeedbackChainRow{Task: db.Task{ID: row.TaskID, SandboxID: &row.SandboxID}}}
	listens, err := w.listens(ctx)
	if err != nil || !listens {
		return false, err
	}
	said, found, err := maybe(q.LockNotice(ctx, row.ID))
	if !found {
		return false, err // nil: another process has sent the notice
	}
	var d storedDiagnosis
	if err := json.Unmarshal(said, &d); err != nil {
		return false, fmt.Errorf("read diagnosis %s: %w", row.ID, err)
	}
	m, err := q.InsertMessage(ctx, db.InsertMessageParams{
		ID: task.NewID(), SandboxID: row.SandboxID, Kind: ingest.MessageSystem, Content: d.diagnosis().ToAgent(), SenderKind: ingest.SenderSystem,
		SenderID: orNull(diagnosisSender), State: ingest.MessageAccepted,
	})
	if err != nil {
		return false, err
	}
	return true, q.SettleNotice(ctx, db.SettleNoticeParams{Notice: explain.NoticeSent, MessageID: &m.ID, ID: row.ID})
}

// diagnosisSender is the sender ID of messages with a diagnosis.
const diagnosisSender = "diagnosis"

// storedDiagnosis is the form of a diagnosis in the column said: older builds wrote and read these names of its fields.
type storedDiagnosis struct {
	explain.Diagnosis

	Evidence   []storedEvidence `json:"evidence"`
	Summary    string           `json:"what"`
	Source     string           `json:"spoken_by"`
	ModelError string           `json:"trouble"`
}

type storedEvidence struct {
	explain.Evidence

	Message   string    `json:"says"`
	CreatedAt time.Time `json:"at"`
}

func storedForm(d explain.Diagnosis) storedDiagnosis {
	stored := storedDiagnosis{Diagnosis: d, Summary: d.Summary, Source: d.Source, ModelError: d.ModelError}
	stored.Evidence = mapAll(d.Evidence, func(e explain.Evidence) storedEvidence {
		return storedEvidence{Evidence: e, Message: e.Message, CreatedAt: e.CreatedAt}
	})
	return stored
}

func (s storedDiagnosis) diagnosis() explain.Diagnosis {
	d := s.Diagnosis
	d.Summary, d.Source, d.ModelError = s.Summary, s.Source, s.ModelError
	d.Evidence = mapAll(s.Evidence, func(e storedEvidence) explain.Evidence {
		e.Evidence.Message, e.Evidence.CreatedAt = e.Message, e.CreatedAt
		return e.Evidence
	})
	return d
}
