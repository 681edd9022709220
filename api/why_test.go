package api_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/task"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

func (w *world) why(id string, headers ...string) client.Explanation {
	return ok[client.Explanation](w.call(http.MethodGet, "/api/v1/tasks/"+id+"/why", nil, headers...), http.StatusOK)
}

func TestWhy_NamesDependenciesByKey(t *testing.T) {
	t.Parallel()
	w := open(t)
	first, in := w.task(newTask()), newTask()
	in.DependsOn = &client.DependsOn{TaskIDs: []string{first.ID}}
	e := w.why(w.task(in).ID)
	require.Equal(t, "omoi why "+first.Key, e.Next)
}

// A task that waits for its sandbox names the missing components of /readyz.
func TestWhy_NamesMissingWorkersAndASilentTemporal(t *testing.T) {
	t.Parallel()
	down := map[string]error{}
	check := func(name string) api.Probe {
		return api.Probe{Name: name, Check: func(context.Context) error { return down[name] }}
	}
	w := startWith(t, pgtest.New(t), live.New(), func(c *api.Config) { c.Open = true },
		func(d *api.Deps) { d.Probes = []api.Probe{check("temporal"), check("workers")} })
	made := w.task(newTask())
	look := func() (client.Explanation, client.Task) {
		return w.why(made.ID), ok[client.Task](w.call(http.MethodGet, "/api/v1/tasks/"+made.ID, nil), http.StatusOK)
	}
	e, shown := look()
	require.Equal(t, "omoi logs -f "+made.ID, e.Next)
	unloaded := explain.Why(task.Task{Status: task.StatusPending, HoldsSlot: true}, explain.Outage{})
	for _, why := range []string{made.Why, e.Why, shown.Why} {
		require.Equal(t, unloaded, why, "no workflow has loaded the task")
	}

	down["workers"] = api.DownError{
		Err: task.Errorf(task.CodeUnavailable, "No worker polls q: tasks are accepted and wait"), Next: "omoi worker",
		NoTasks: true,
	}
	e, shown = look()
	require.Equal(t, []any{explain.StandsWaiting, "omoi worker"}, []any{e.State, e.Next})
	require.Equal(t, e.Why, shown.Why)
	down["workers"] = api.DownError{
		Err: task.Errorf(task.CodeUnavailable, "No worker polls host h"), Next: "omoi host list",
	}
	e, _ = look()
	require.NotContains(t, e.Why, "host h", "another host can start it")

	down["temporal"] = task.Errorf(task.CodeUnavailable, "Temporal does not answer.")
	e, shown = look()
	require.Equal(t, []any{explain.StandsWaiting, "omoi doctor"}, []any{e.State, e.Next})
	require.Equal(t, e.Why, shown.Why)
	w.begin(made)
	require.NotEqual(t, explain.StandsWaiting, w.why(made.ID).State, "it has its sandbox")
}

func TestWhy_CoversAllStatesOfATask(t *testing.T) {
	t.Parallel()
	w := open(t)
	made := w.task(newTask())
	e := w.why(made.ID)
	require.Equal(t, []any{made.ID, task.StatusPending, explain.StandsStarting}, []any{e.TaskID, e.Status, e.State})

	box := w.begin(made)
	require.Equal(t, explain.StandsStarting, w.why(made.ID).State)
	w.report(box, 1, "agent.started", "agent.message", "agent.heartbeat")
	w.exec(`UPDATE sandboxes SET last_event_at = now(), last_work_at = now() WHERE id = $1`, box)
	e = w.why(made.ID)
	require.Equal(t, explain.StandsRunning, e.State)
	require.Equal(t, int64(2), e.Evidence[0].Sequence, "a heartbeat shows nothing")

	w.exec(`UPDATE sandboxes SET last_event_at = now() - interval '1 hour' WHERE id = $1`, box)
	require.Equal(t, explain.StandsUnknown, w.why(made.ID).State)

	w.exec(`INSERT INTO sandbox_events (sandbox_id, sequence, partition_month, event_type, event_data)
		SELECT id, 4, partition_month, 'agent.error', '{"error": "no compiler, token=abcdefgh12345"}' FROM sandboxes WHERE id = $1`, box)
	w.exec(`UPDATE sandboxes SET last_sequence = 4 WHERE id = $1`, box)
	w.exec(`UPDATE attempts SET ended_at = now(), outcome = 'failed', failure_class = 'agent_error', reason = 'no compiler' WHERE task_id = $1`, made.ID)
	w.exec(`UPDATE tasks SET status = 'failed', failure_class = 'agent_error', error_message = 'no compiler', sandbox_id = NULL WHERE id = $1`, made.ID)
	w.exec(`INSERT INTO diagnoses (id, organization_id, project_id, ticket_id, task_id, attempt, kind, said, notice)
		SELECT gen_random_uuid(), organization_id, project_id, ticket_id, id, 1, 'ended', '{"what": "It failed.", "kind": "ended", "spoken_by": "rules", "evidence": []}', 'held'
		FROM tasks WHERE id = $1`, made.ID)
	e = w.why(made.ID)
	require.Equal(t, []any{explain.StandsFailed, "omoi retry " + made.ID}, []any{e.State, e.Next})
	require.Equal(t, "no compiler, token=[removed]", e.Evidence[0].Message)
	require.Equal(t, "It failed.", e.Diagnosis.Summary)
	page := ok[client.Page[explain.Diagnosis]](w.call(http.MethodGet, "/api/v1/diagnoses?task_id="+made.ID, nil),
		http.StatusOK)
	require.Len(t, page.Items, 1)

	require.Len(t, ok[client.Page[explain.Diagnosis]](
		w.call(http.MethodGet, "/api/v1/diagnoses?ticket_id="+made.TicketID, nil), http.StatusOK,
	).Items, 1)
	w.call(http.MethodGet, "/api/v1/diagnoses?ticket_id=x", nil).refused(422, "query.ticket_id")

	w.exec(`INSERT INTO sandboxes (id, organization_id, task_id, attempt, provider, machine, state)
		SELECT 'second', organization_id, task_id, 2, provider, machine, 'gone' FROM sandboxes WHERE id = $1`, box)
	w.exec(`INSERT INTO attempts (task_id, number, sandbox_id, kind, run_id, ordinal, ended_at, outcome, failure_class, reason)
		SELECT task_id, 2, 'second', 'retry', run_id, ordinal + 1000, now(), outcome, failure_class, reason FROM attempts WHERE task_id = $1`, made.ID)
	require.Equal(t, "omoi logs "+made.ID, w.why(made.ID).Next, "another attempt would fail as both did")

	w.call(http.MethodGet, "/api/v1/tasks/"+task.NewID()+"/why", nil).refused(http.StatusNotFound, "")
	w.call(http.MethodGet, "/api/v1/tasks/nonsense/why", nil).refused(http.StatusNotFound, "")
	w.call(http.MethodGet, "/api/v1/diagnoses?task_id=x", nil).refused(422, "query.task_id")
}

func TestWhy_OfItsOrganizationOnly(t *testing.T) {
	t.Parallel()
	w := closed(t)
	made := ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", newTask(), authorization, w.key(w.org, "write")),
		http.StatusCreated)
	box := w.begin(made)
	stranger := w.foreigner()
	w.call(http.MethodGet, "/api/v1/tasks/"+made.ID+"/why", nil, authorization, stranger).refused(http.StatusNotFound, "")
	w.call(http.MethodGet, "/api/v1/sandboxes/"+box+"/counts", nil, authorization, stranger).
		refused(http.StatusNotFound, "")
}

func TestEventCounts_ByType(t *testing.T) {
	t.Parallel()
	w := open(t)
	box := w.begin(w.task(newTask()))
	w.report(box, 1, "agent.started", "agent.heartbeat", "agent.message", "agent.message")
	got := ok[client.EventCounts](w.call(http.MethodGet, "/api/v1/sandboxes/"+box+"/counts", nil), http.StatusOK)
	require.Equal(t, client.EventCounts{SandboxID: box, Total: 4, Heartbeats: 1, Types: map[string]int64{
		"agent.started": 1, "agent.heartbeat": 1, "agent.message": 2,
	}}, got)
}

func TestPlan_ChangedByOperatorsOnly(t *testing.T) {
	t.Parallel()
	w := closed(t)
	const path = "/api/v1/organizations"
	stranger, admin, write := w.foreigner(), w.key(w.org, "admin"), w.key(w.org, "write")
	list := func(key string) []client.Organization {
		listed := w.call(http.MethodGet, path, nil, authorization, key)
		return ok[client.Page[client.Organization]](listed, http.StatusOK).Items
	}
	own := list(stranger)
	require.Len(t, own, 1)
	require.Equal(t, "other", own[0].Name)
	require.Len(t, list(write), 1)
	require.Len(t, list(admin), 2)

	other := path + "/" + own[0].ID
	w.call(http.MethodPatch, other, `{"plan": "enterprise"}`, authorization, stranger).refused(http.StatusForbidden, "")
	w.call(http.MethodPatch, other, `{"plan": "pro"}`, authorization, write).refused(http.StatusForbidden, "")
	changed := ok[client.Organization](w.call(http.MethodPatch, other, `{"plan": "pro"}`, authorization, admin),
		http.StatusOK)
	require.Equal(t, []any{"pro", 3}, []any{changed.Plan, *changed.ConcurrencyLimit})
	w.call(http.MethodPatch, other, `{"plan": "gold"}`, authorization, admin).refused(422, "body.plan")
	w.call(http.MethodPatch, path+"/"+task.NewID(), `{"plan": "pro"}`, authorization, admin).
		refused(http.StatusNotFound, "")
}
