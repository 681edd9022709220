package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
)

func TestCapacity_CountsSlotsQueueAndSandboxes(t *testing.T) {
	t.Parallel()
	w := open(t)
	first, second := w.task(newTask()), w.task(newTask())
	project := ok[client.Project](w.call(http.MethodGet, "/api/v1/projects/"+first.ProjectID, nil), http.StatusOK)
	w.exec(`INSERT INTO slots (task_id, organization_id, project_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, first.ID, w.org, project.ID)
	w.exec(`DELETE FROM slots WHERE task_id = $1`, second.ID)
	w.exec(`UPDATE tasks SET queued_at = NULL WHERE id = $1`, first.ID)
	w.exec(`UPDATE tasks SET queued_at = now() - interval '12 min' WHERE id = $1`, second.ID)
	w.sandboxes(first.ID, map[string]string{
		"run": "'running', NULL, NULL", "old": "'deleting', now() - interval '1 h', NULL", "new": "'gone', now(), NULL",
		"off": "'lost', now() - interval '2 h', NULL", "end": "'gone', now(), now()",
	})

	c := ok[client.Capacity](w.call(http.MethodGet, "/api/v1/capacity", nil), http.StatusOK)
	require.Equal(t, []any{1, 1}, []any{c.RunningTasks, c.QueuedTasks})
	require.WithinDuration(t, time.Now().Add(-12*time.Minute), *c.OldestQueuedAt, time.Minute)
	require.Equal(t, []client.ProjectCapacity{{
		ID: project.ID, Key: project.Key, Name: project.Name, RunningTasks: 1, ConcurrencyLimit: project.MaxSlots, QueuedTasks: 1,
	}}, c.Projects)
	require.Equal(t, []int{1, 2, 1}, []int{c.Sandboxes.Running, c.Sandboxes.Unverified, c.Sandboxes.Lost})
	require.WithinDuration(t, time.Now().Add(-time.Hour), *c.Sandboxes.OldestUnverifiedAt, time.Minute)

	page := func(query string) (ids []string) {
		for _, box := range ok[client.Page[client.Sandbox]](w.call(http.MethodGet, "/api/v1/sandboxes?"+query, nil), http.StatusOK).Items {
			ids = append(ids, box.ID)
		}
		return ids
	}
	require.ElementsMatch(t, []string{"old", "new"}, page("unverified=true&ended=true&state=deleting&state=gone"), "the sandboxes that are counted")
	require.Equal(t, []string{"run"}, page("ended=false"))
	w.call(http.MethodGet, "/api/v1/sandboxes?ended=maybe", nil).refused(http.StatusUnprocessableEntity, "query.ended")
}

// sandboxes adds sandboxes of a task, with state, ended_at and verified_at by ID.
func (w *world) sandboxes(taskID string, states map[string]string) {
	w.t.Helper()
	for id, state := range states {
		w.exec(`INSERT INTO sandboxes (id, organization_id, task_id, attempt, provider, machine, state, ended_at, verified_at)
			VALUES ($1, $2, $3, 1, 'local', true, `+state+`)`, id, w.org, taskID)
	}
}

func TestCapacity_OfAnotherOrganizationIsNotCounted(t *testing.T) {
	t.Parallel()
	w := closed(t)
	w.exec(`INSERT INTO sandboxes (id, organization_id, provider, machine, state) VALUES ('a', $1, 'local', true, 'running')`, w.org)
	c := ok[client.Capacity](w.call(http.MethodGet, "/api/v1/capacity", nil, authorization, w.key(w.strangers(), "read")), http.StatusOK)
	require.Equal(t, client.Capacity{ConcurrencyLimit: c.ConcurrencyLimit, Projects: []client.ProjectCapacity{}}, c)
	u := ok[client.UsageByDay](w.call(http.MethodGet, "/api/v1/usage?days=1", nil, authorization, w.key(w.strangers(), "read")), http.StatusOK)
	require.Zero(t, u.Total.Attempts)
}

func TestUsage_SumsAttemptsByTheDayOfTheirStart(t *testing.T) {
	t.Parallel()
	w := open(t)
	made := w.task(newTask())
	project := ok[client.Project](w.call(http.MethodPost, "/api/v1/projects", client.CreateProjectRequest{Name: "other"}), http.StatusCreated)
	other := newTask()
	other.Repo, other.ProjectID = "", project.ID
	beside := w.task(other)
	spends := func(of client.Task, id, day string, usd float64, tokens int, unknown bool) {
		w.exec(`INSERT INTO sandboxes (id, organization_id, task_id, attempt, provider, state, created_at, cost_usd, input_tokens, output_tokens, cost_unknown)
			VALUES ($1, $2, $3, 1, 'local', 'gone', date_trunc('day', now(), 'UTC') - $4::interval + interval '1 min', $5, $6, 1, $7)`,
			id, w.org, of.ID, day, usd, tokens, unknown)
		w.exec(`INSERT INTO attempts (task_id, number, sandbox_id, run_id, ordinal) SELECT $1, count(*) + 1, $2, 'r', count(*) FROM attempts WHERE task_id = $1`, of.ID, id)
	}
	spends(made, "a", "0", 0.5, 9, false)
	spends(made, "b", "1 day", 0.25, 99, false)
	spends(beside, "c", "1 day", 0, 0, true)
	spends(made, "d", "3 days", 100, 100, false)
	w.exec(`INSERT INTO sandboxes (id, organization_id, task_id, attempt, provider) VALUES ('repeated-tests', $1, $2, 1, 'local')`, w.org, made.ID)
	read := func(query string) client.UsageByDay {
		return ok[client.UsageByDay](w.call(http.MethodGet, "/api/v1/usage?"+query, nil), http.StatusOK)
	}
	today := time.Now().UTC()
	day := func(ago int) string { return today.AddDate(0, 0, -ago).Format(time.DateOnly) }
	require.Equal(t, client.UsageByDay{
		Days: []client.DayUsage{
			{Day: day(2), USD: new(0.0)},
			{Day: day(1), Attempts: 2, Tokens: 101, USD: new(0.25), CostUnknown: true},
			{Day: day(0), Attempts: 1, Tokens: 10, USD: new(0.5)},
		},
		Total: client.DayUsage{Day: day(2), Attempts: 3, Tokens: 111, USD: new(0.75), CostUnknown: true},
	}, read("days=3"))
	require.Equal(t, client.DayUsage{Day: day(0), USD: new(0.0)}, read("days=1&project_id="+beside.ProjectID).Total)
	require.Nil(t, read("days=2&project_id="+beside.ProjectID).Total.USD, "a cost is unknown, not 0")
	require.Len(t, read("").Days, 30)
	w.call(http.MethodGet, "/api/v1/usage?days=0", nil).refused(http.StatusUnprocessableEntity, "query.days")
}

func TestUsage_CountsRunningAttempts(t *testing.T) {
	t.Parallel()
	w := open(t)
	made := w.task(newTask())
	box := w.begin(made)
	w.exec(`INSERT INTO slots (task_id, organization_id, project_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, made.ID, w.org, made.ProjectID)
	w.call(http.MethodPost, "/api/v1/sandboxes/"+box+"/events",
		`{"event_type": "agent.assistant_message", "event_data": {"total_cost_usd": 0.125, "total_usage": {"input_tokens": 7, "output_tokens": 1}}, "source": "agent"}`)
	u := ok[client.UsageByDay](w.call(http.MethodGet, "/api/v1/usage?days=1", nil), http.StatusOK)
	require.Equal(t, []any{int64(8), 0.125}, []any{u.Total.Tokens, *u.Total.USD})
}
