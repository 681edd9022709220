package postgres_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/diagnosis"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/notice"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/task"
)

// diagnoser returns a diagnosis service over a store. It writes webhooks unless url is empty.
func (w world) diagnoser(url string) (*postgres.Store, *diagnosis.Service) {
	store := postgres.New(w.pool, postgres.Config{})
	return store, diagnosis.New(diagnosis.Config{
		Enabled: true, Failures: 3, Newest: 100, Interval: time.Second, Rules: supervise.DefaultSettings(),
		Webhook: url != "",
	}, diagnosis.Deps{Store: store, Log: slog.New(slog.DiscardHandler)})
}

// fails ends a task's attempt as failed, and sets the status of the task. The result is the next ordinal.
func (w world) fails(a asked, live contract.LiveAttempt, ordinal int64, status task.Status) int64 {
	w.t.Helper()
	w.event(live.SandboxID, event.AgentError, `{"error": "cannot find libfoo"}`)
	p := contract.Projection{
		Ordinal: ordinal, Status: status, Reason: "The agent gave up: cannot find libfoo", Class: task.ClassAgentError,
		Ended: &contract.AttemptEnd{Number: live.Number, Outcome: "failed", Class: task.ClassAgentError, Reason: "The agent gave up: cannot find libfoo"},
	}
	w.write(a, p)
	return ordinal + 1
}

func diagnosesOf(tb testing.TB, store *postgres.Store, org, taskID string) []explain.Diagnosis {
	tb.Helper()
	page, err := store.Diagnoses(tb.Context(), org, client.DiagnosisQuery{TaskIDs: []string{taskID}, PageRequest: client.PageRequest{Limit: 10}})
	require.NoError(tb, err)
	return page.Items
}

func TestDiagnosis_OnceWithNotice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	store, service := w.diagnoser("")
	a := w.task(w.project(5), "")
	ordinal := w.load(a).Ordinal + 1
	for range 3 {
		require.Empty(t, diagnosesOf(t, store, w.org, a.id))
		live := w.begin(a, ordinal)
		ordinal = w.fails(a, live, ordinal+1, task.StatusPending)
		require.NoError(t, service.Step(t.Context()))
	}
	found := diagnosesOf(t, store, w.org, a.id)
	require.Len(t, found, 1)
	d := found[0]
	require.Equal(t, []any{explain.DiagnosisRepeated, 3, explain.NoticePending}, []any{d.Kind, d.Attempt, d.Notice})
	require.Nil(t, d.Webhook, "none is configured")
	require.Len(t, d.Evidence, 3)
	require.Equal(t, []any{3, int64(1), "cannot find libfoo"}, []any{d.Evidence[0].Attempt, d.Evidence[0].Sequence, d.Evidence[0].Message})
	require.Zero(t, count(t, w.pool, `SELECT count(*) FROM diagnosis_queue`))

	live := w.begin(a, ordinal)
	w.write(a, contract.Projection{Ordinal: ordinal + 1, Status: task.StatusAssigned, SandboxID: live.SandboxID})
	for range 2 {
		require.NoError(t, service.Step(t.Context()))
	}
	messages, err := store.LeaseMessages(t.Context(), ingest.Taking{SandboxID: live.SandboxID})
	require.NoError(t, err)
	require.Len(t, messages, 1, "it is told once")
	require.Equal(t, []string{ingest.MessageSystem, "diagnosis"}, []string{messages[0].Kind, messages[0].SenderID})
	require.Contains(t, messages[0].Content, "3 attempts in a row failed")
	d = diagnosesOf(t, store, w.org, a.id)[0]
	require.Equal(t, []string{explain.NoticeSent, messages[0].ID}, []string{d.Notice, d.MessageID})

	w.fails(a, live, ordinal+2, task.StatusFailed)
	require.NoError(t, service.Step(t.Context()))
	found = diagnosesOf(t, store, w.org, a.id)
	require.Len(t, found, 2)
	require.Equal(t, []any{explain.DiagnosisEnded, 4}, []any{found[0].Kind, found[0].Attempt})
	require.NoError(t, service.Step(t.Context()))
	require.Len(t, diagnosesOf(t, store, w.org, a.id), 2)
	require.Empty(t, diagnosesOf(t, store, task.NewID(), a.id), "others see nothing")
}

// After a crash another process takes the request, and concurrent diagnoses are stored once.
func TestDiagnosis_SurvivesCrash(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	store, service := w.diagnoser("http://127.0.0.1:1/")
	a := w.task(w.project(5), "")
	w.fails(a, w.running(a), 20, task.StatusFailed)
	looks, err := store.LeaseDiagnosisRequests(t.Context(), time.Hour, 5)
	require.NoError(t, err)
	require.Len(t, looks, 1)
	require.NoError(t, service.Step(t.Context()))
	require.Empty(t, diagnosesOf(t, store, w.org, a.id), "it is somebody's")
	w.exec(`UPDATE diagnosis_queue SET due_at = now()`)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { _ = service.Step(context.Background()) })
	}
	both.Wait()
	found := diagnosesOf(t, store, w.org, a.id)
	require.Len(t, found, 1)
	require.Equal(t, explain.DeliveryPending, found[0].Webhook.State)
	d := found[0]
	d.ID = task.NewID()
	saved, err := store.SaveDiagnoses(t.Context(), looks[0], []diagnosis.KeptDiagnosis{{Diagnosis: d, DeliveryID: task.NewID(), Body: "{}"}})
	require.NoError(t, err)
	require.Empty(t, saved, "this failure has one")
	require.Equal(t, 1, count(t, w.pool, `SELECT count(*) FROM deliveries`))

	w.exec(`UPDATE tasks SET status = 'pending' WHERE id = $1`, a.id)
	w.exec(`UPDATE tasks SET status = 'failed' WHERE id = $1`, a.id)
	old := diagnosis.Request{TaskID: a.id, Changed: 0}
	require.NoError(t, store.SettleDiagnosisRequest(t.Context(), old))
	require.Equal(t, 1, count(t, w.pool, `SELECT count(*) FROM diagnosis_queue`), "what came after the look is looked at")
}

// Tasks fail again without a new attempt: while publishing, before the first attempt, and by termination.
func TestDiagnosis_OfEachEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	store, service := w.diagnoser("http://127.0.0.1:1/")
	published, early := w.task(w.project(5), ""), w.task(w.project(5), "")
	live := w.running(published)
	w.write(published, contract.Projection{
		Ordinal: 20, Status: task.StatusFailed, Class: task.ClassPublish, Reason: "The branch was refused.",
		Ended: &contract.AttemptEnd{Number: live.Number, Outcome: "completed"},
	})
	w.load(early)
	w.write(early, contract.Projection{Ordinal: 20, Status: task.StatusFailed, Class: task.ClassCredentials, Reason: "No key."})
	for n := range 3 {
		for range 2 { // a repeated diagnosis is stored once
			w.exec(`INSERT INTO diagnosis_queue (task_id) SELECT id FROM tasks ON CONFLICT DO NOTHING`)
			require.NoError(t, service.Step(t.Context()))
		}
		for _, a := range []asked{published, early} {
			found := diagnosesOf(t, store, w.org, a.id)
			require.Len(t, found, n+1, a.id)
			require.Equal(t, explain.DiagnosisEnded, found[0].Kind)
			require.NotNil(t, found[0].EndedAt)
			require.NotNil(t, found[0].Webhook, "each is told")
		}
		w.exec(`UPDATE tasks SET status = 'pending', completed_at = NULL, run_id = ''`) // as a retry and a write-off do
		w.exec(`UPDATE tasks SET status = 'failed', completed_at = now() + make_interval(secs => $1)`, n+1)
	}
}

// Three failures in a row lead to one diagnosis of the ticket, in addition to those of its tasks.
func TestDiagnosis_OfTicket(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	store, service := w.diagnoser("http://127.0.0.1:1/")
	p := w.project(9)
	first := w.task(p, "")
	ticket := w.row(first.id, "ticket_id")
	ofTicket := func() []explain.Diagnosis {
		page, err := store.Diagnoses(t.Context(), w.org, client.DiagnosisQuery{TicketIDs: []string{ticket}, PageRequest: client.PageRequest{Limit: 50}})
		require.NoError(t, err)
		return slices.DeleteFunc(page.Items, func(d explain.Diagnosis) bool { return d.Kind != explain.DiagnosisTicket })
	}
	fail := func(a asked) {
		w.fails(a, w.running(a), 20, task.StatusFailed)
		require.NoError(t, service.Step(t.Context()))
	}
	next := func() asked {
		a := w.task(p, "")
		w.exec(`UPDATE tasks SET ticket_id = $2 WHERE id = $1`, a.id, ticket)
		return a
	}
	fail(first)
	second := next()
	fail(second)
	require.Empty(t, ofTicket())
	got, err := store.Ticket(t.Context(), w.org, ticket)
	require.NoError(t, err)
	require.Nil(t, got.Diagnosis)
	third := next()
	fail(third)
	found := ofTicket()
	require.Len(t, found, 1)
	d := found[0]
	require.Equal(t, []any{third.id, 3, task.ClassAgentError, explain.DeliveryPending}, []any{d.TaskID, d.Failures, d.FailureClass, d.Webhook.State})
	require.Contains(t, d.Summary, "3 tasks of the ticket failed one after the other, all of them in the same way")
	require.Len(t, d.Evidence, 3)
	for _, sign := range d.Evidence {
		require.Equal(t, sign.TaskID, one[string](t, w.pool, `SELECT task_id::text FROM sandboxes WHERE id = $1`, sign.SandboxID), "the task of the event")
	}
	got, err = store.Ticket(t.Context(), w.org, ticket)
	require.NoError(t, err)
	require.Equal(t, d, *got.Diagnosis)
	page, err := store.Tickets(t.Context(), w.org, client.TicketQuery{PageRequest: client.PageRequest{Limit: 50}})
	require.NoError(t, err)
	require.Equal(t, d.ID, page.Items[slices.IndexFunc(page.Items, func(k client.Ticket) bool { return k.ID == ticket })].Diagnosis.ID)
	require.Len(t, diagnosesOf(t, store, w.org, third.id), 1, "its own is another")
	f, err := store.WhyFacts(t.Context(), w.org, third.id)
	require.NoError(t, err)
	require.Equal(t, explain.DiagnosisEnded, f.Diagnosis.Kind)

	fail(next())
	fail(next())
	require.Len(t, ofTicket(), 1, "two since then")
	done := next()
	w.exec(`UPDATE tasks SET status = 'completed', completed_at = clock_timestamp() WHERE id = $1`, done.id)
	fail(next())
	require.Len(t, ofTicket(), 1, "one was completed in between")
}

func TestDiagnosis_WebhooksAtLeastOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var ids []string
	receiver := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		ids = append(ids, r.Header.Get(notice.HeaderDelivery))
		if len(ids) == 1 {
			rw.WriteHeader(http.StatusBadGateway)
		}
	}))
	t.Cleanup(receiver.Close)
	w := newWorld(t, postgres.Config{})
	store, service := w.diagnoser(receiver.URL)
	a := w.task(w.project(5), "")
	w.fails(a, w.running(a), 20, task.StatusFailed)
	require.NoError(t, service.Step(t.Context()))
	direct := func(*http.Request) (*http.Client, error) { return http.DefaultClient, nil }
	sender := notice.New(notice.Config{Diagnoses: notice.Webhook{URL: receiver.URL, Secret: "a secret of sixteen", Client: direct}},
		notice.Deps{Store: store, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, sender.Send(t.Context()))
	found := diagnosesOf(t, store, w.org, a.id)[0].Webhook
	require.Equal(t, []any{explain.DeliveryPending, 1, "the receiver answered 502"}, []any{found.State, found.Attempts, found.Error})
	require.NoError(t, sender.Send(t.Context()))
	require.Len(t, ids, 1, "it is not due")
	w.exec(`UPDATE deliveries SET due_at = now()`)
	require.NoError(t, sender.Send(t.Context()))
	found = diagnosesOf(t, store, w.org, a.id)[0].Webhook
	require.Equal(t, []any{explain.DeliveryDelivered, 2, ""}, []any{found.State, found.Attempts, found.Error})
	require.NotNil(t, found.DeliveredAt)
	require.Equal(t, []string{found.ID, found.ID}, ids, "a repeat has the same id")
}

func TestOrganizations_HavePlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	store := postgres.New(w.pool, postgres.Config{})
	project := w.project(5)
	_, err := store.ChangeOrganization(t.Context(), w.org, client.UpdateOrganizationRequest{Plan: new("free")})
	require.NoError(t, err)
	w.task(project, "")
	second := w.task(project, "")
	require.False(t, w.holdsSlot(second.id))
	o, err := store.ChangeOrganization(t.Context(), w.org, client.UpdateOrganizationRequest{Plan: new("pro")})
	require.NoError(t, err)
	require.Equal(t, []any{"pro", 3, 2}, []any{o.Plan, *o.ConcurrencyLimit, o.RunningTasks})
	require.True(t, w.holdsSlot(second.id), "the gate looks at once")
	o, err = store.ChangeOrganization(t.Context(), w.org, client.UpdateOrganizationRequest{MaxSlots: new(7)})
	require.NoError(t, err)
	require.Equal(t, []int{7, 7}, []int{*o.ConcurrencyLimit, *o.MaxSlots})
	o, err = store.ChangeOrganization(t.Context(), w.org, client.UpdateOrganizationRequest{Plan: new("unlimited"), MaxSlots: new(-1)})
	require.NoError(t, err)
	require.Nil(t, o.ConcurrencyLimit)
	_, err = store.ChangeOrganization(t.Context(), task.NewID(), client.UpdateOrganizationRequest{Plan: new("pro")})
	require.Equal(t, task.CodeNotFound, task.CodeOf(err))
}
