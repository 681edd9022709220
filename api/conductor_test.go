package api_test

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/conductor"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/task"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

// conducts runs a cycle of the conductor.
func (w *world) conducts(cycle string) {
	w.t.Helper()
	c := conductor.New(conductor.Config{}, conductor.Deps{Store: w.store})
	_, err := c.Analyze(w.t.Context(), contract.Range{CycleID: cycle, Upto: "ffffffff-ffff-ffff-ffff-ffffffffffff"},
		contract.CycleProgress{}, func(contract.CycleProgress) {})
	require.NoError(w.t, err)
	require.NoError(w.t, c.End(w.t.Context(), contract.CycleReport{ID: cycle}))
}

// about returns a task with a title, for an external agent.
func about(title string) client.CreateTaskRequest {
	in := newTask()
	in.Title, in.Description = title, title
	return in
}

func TestConductorAnalyses_AreOfTheirOrganization(t *testing.T) {
	t.Parallel()
	w := closed(t)
	admin, read, stranger := w.key(w.org, "admin"), w.key(w.org, "read"), w.foreigner()
	var made []client.Task
	for range 2 {
		made = append(made, ok[client.Task](
			w.call(http.MethodPost, "/api/v1/tasks", about("Checkout crashes on an empty cart"), authorization, admin),
			http.StatusCreated,
		))
		w.begin(made[len(made)-1])
	}
	health := func(key string) client.MonitorHealth {
		return ok[client.MonitorHealth](w.call(http.MethodGet, monitorRoutes+"/health", nil, authorization, key),
			http.StatusOK)
	}
	require.Equal(t, "not_run", health(read).Status)
	w.conducts("one")
	mine := health(read)
	require.Equal(t, []any{"inefficient", 1}, []any{mine.Status, mine.RecentDuplicates})
	require.Nil(t, mine.Coherence, "nobody has judged them")
	require.NotEmpty(t, mine.Recommendations)
	require.Equal(t, "not_run", health(stranger).Status)
	require.Zero(t, health(stranger).RecentDuplicates)

	status := func(key string) client.ConductorStatus {
		return ok[client.MonitorStatus](w.call(http.MethodGet, monitorRoutes+"/status", nil, authorization, key),
			http.StatusOK).Conductor
	}
	require.True(t, status(read).Running)
	require.NotNil(t, status(read).LastRunAge)
	require.Equal(t, 2, status(read).Last.Agents)
	require.Nil(t, status(stranger).Last)

	const routes = "/api/v1/conductor"
	list := func(path, key string) []map[string]any {
		return ok[client.Page[map[string]any]](w.call(http.MethodGet, routes+path, nil, authorization, key),
			http.StatusOK).Items
	}
	require.Len(t, list("/analyses", read), 1)
	pairs := list("/duplicates?task_id="+made[0].ID, read)
	require.Len(t, pairs, 1)
	require.ElementsMatch(t, []any{made[0].Key, made[1].Key}, []any{pairs[0]["task1_key"], pairs[0]["task2_key"]})
	require.Empty(t, list("/duplicates?task_id="+task.NewID(), read))
	require.Empty(t, list("/analyses", stranger))
	require.Empty(t, list("/duplicates", stranger))
	w.call(http.MethodGet, routes+"/duplicates?task_id=x", nil, authorization, read).
		refused(http.StatusUnprocessableEntity, "query.task_id")

	const schedule = "/api/v1/schedules/conductor"
	w.call(http.MethodPost, schedule+"/pause", nil, authorization, w.key(w.org, "write")).refused(http.StatusForbidden, "")
	require.True(t,
		ok[client.Schedule](w.call(http.MethodPost, schedule+"/pause", nil, authorization, admin), http.StatusOK).Paused)
}

func TestCreateTicket_DuplicateIsRejected(t *testing.T) {
	t.Parallel()
	w := open(t)
	const tickets = "/api/v1/tickets"
	body := func(title, more string) string {
		return `{"repo": "` + goodRepo + `", "title": "` + title + `", "task": {"agent": "external"}` + more + `}`
	}
	first := ok[client.Ticket](w.call(http.MethodPost, tickets, body("Crash on empty cart at checkout", "")),
		http.StatusCreated)
	p := w.call(http.MethodPost, tickets,
		body("Checkout: empty cart crashes", "")).refused(http.StatusConflict, "body.force_create")
	require.True(t, p.Duplicates.IsDuplicate)
	require.Len(t, p.Duplicates.Candidates, 1)
	require.Equal(t, []string{first.ID, first.TaskIDs[0], "pending"},
		[]string{p.Duplicates.Candidates[0].TicketID, p.Duplicates.Candidates[0].TaskID, p.Duplicates.Candidates[0].Status})
	require.Contains(t, p.Detail, first.TaskIDs[0])

	ok[client.Ticket](w.call(http.MethodPost, tickets, body("Rotate API keys", "")), http.StatusCreated)
	ok[client.Ticket](w.call(http.MethodPost, tickets, body("Checkout: empty cart crashes", `, "force_create": true`)),
		http.StatusCreated)
	ok[client.Ticket](w.call(http.MethodPost, tickets,
		body("Checkout: empty cart crashes", `, "check_duplicates": false`)), http.StatusCreated)
	w.call(http.MethodPost, tickets, body("The cart", `, "similarity_threshold": 2`)).
		refused(http.StatusUnprocessableEntity, "body.similarity_threshold")

	w.exec(`UPDATE tasks SET status = 'completed'`)
	ok[client.Ticket](w.call(http.MethodPost, tickets, body("Empty cart crashes checkout", "")), http.StatusCreated)
}

func TestCreateTask_ComparedOnRequestOnly(t *testing.T) {
	t.Parallel()
	w := closed(t)
	write, stranger := w.key(w.org, "write"), w.foreigner()
	in := about("Checkout crashes on an empty cart")
	in.CheckDuplicates = new(true)
	post := func(in client.CreateTaskRequest, key string) answer {
		return w.call(http.MethodPost, "/api/v1/tasks", in, authorization, write, "Idempotency-Key", key)
	}
	first := ok[client.Task](post(in, "a"), http.StatusCreated)
	require.Equal(t, first.ID, ok[client.Task](post(in, "a"), http.StatusOK).ID, "who asks again is not told of himself")
	post(in, "b").refused(http.StatusConflict, "body.force_create")
	ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", in, authorization, stranger), http.StatusCreated)
	in.CheckDuplicates = nil
	ok[client.Task](post(in, "c"), http.StatusCreated)
	in.CheckDuplicates, in.ForceCreate = new(true), true
	ok[client.Task](post(in, "d"), http.StatusCreated)
}

// finder is a model that takes the open work of a title for the same.
type finder struct {
	same  string
	score float64 // zero: 0.9
	err   error
	asked [][]string
}

func (f *finder) FindDuplicates(_ context.Context, _ supervise.WorkText, open []string) ([]supervise.Match, supervise.ModelUse, error) {
	f.asked = append(f.asked, open)
	at := slices.Index(open, f.same)
	if f.err != nil || at < 0 {
		return nil, supervise.ModelUse{}, f.err
	}
	return []supervise.Match{{At: at, Similarity: cmp.Or(f.score, 0.9), Work: "The same.", Confidence: 0.9}}, supervise.ModelUse{}, nil
}

// A model compares a new ticket with all open titles in one call; without it, only nearly equal texts are found.
func TestCreateTicket_AsksAModelOnce(t *testing.T) {
	t.Parallel()
	f := &finder{same: "Night theme"}
	w := startWith(t, pgtest.New(t), live.New(), func(c *api.Config) { c.Open = true }, func(d *api.Deps) { d.Finder = func() supervise.Finder { return f } })
	const tickets = "/api/v1/tickets"
	body := func(title string) string {
		return `{"repo": "` + goodRepo + `", "title": "` + title + `", "task": {"agent": "external"}}`
	}
	ok[client.Ticket](w.call(http.MethodPost, tickets, body("Night theme")), http.StatusCreated)
	require.Empty(t, f.asked, "nothing was open")
	ok[client.Ticket](w.call(http.MethodPost, tickets, `{"repo": "`+goodRepo+`", "title": "Rotate keys", "check_duplicates": false, "task": {"agent": "external"}}`), http.StatusCreated)
	p := w.call(http.MethodPost, tickets, body("Dark mode")).refused(http.StatusConflict, "body.force_create")
	require.Equal(t, [][]string{{"Rotate keys", "Night theme"}}, f.asked, "the newest title first")
	require.Equal(t, "model", p.Duplicates.Source)
	require.Equal(t, "Night theme", p.Duplicates.Candidates[0].Title)
	p = w.call(http.MethodPost, tickets, body("night theme")).refused(http.StatusConflict, "body.force_create")
	require.Equal(t, "text", p.Duplicates.Source, "equal texts need no model")
	require.Len(t, f.asked, 1)

	draft := client.CreateTaskRequest{Repo: goodRepo, Title: "Dark mode", Agent: "external"}
	preview := func() client.DuplicateReport {
		return ok[client.TaskPreview](w.call(http.MethodPost, "/api/v1/tasks/preview", draft), http.StatusOK).Duplicates
	}
	require.Equal(t, "text", preview().Source, "a preview asks no model")
	require.Contains(t, preview().Message, "Only a model finds the same work in other words.")
	require.Len(t, f.asked, 1)
	f.err = errors.New("it is down")
	ok[client.Ticket](w.call(http.MethodPost, tickets, body("Dark mode")), http.StatusCreated)
	require.Len(t, f.asked, 2, "a model that does not answer stops no one")
}

// The threshold of a request replaces the default one of a model, also below it.
func TestCreateTask_ThresholdForAModel(t *testing.T) {
	t.Parallel()
	w := startWith(t, pgtest.New(t), live.New(), func(c *api.Config) { c.Open = true },
		func(d *api.Deps) {
			d.Finder = func() supervise.Finder { return &finder{same: "Night theme", score: 0.6} }
		})
	post := func(least *float64) answer {
		in := about("Dark mode")
		in.CheckDuplicates, in.SimilarityThreshold = new(true), least
		return w.call(http.MethodPost, "/api/v1/tasks", in)
	}
	ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", about("Night theme")), http.StatusCreated)
	post(new(0.5)).refused(http.StatusConflict, "body.force_create")
	post(new(0.6)).refused(http.StatusConflict, "body.force_create")
	ok[client.Task](post(nil), http.StatusCreated)
}

// The answer of a creation was lost. Its repeat asks no model again, which might now answer differently.
func TestCreateTask_ARepeatAsksNoModel(t *testing.T) {
	t.Parallel()
	f := &finder{}
	w := startWith(t, pgtest.New(t), live.New(), func(c *api.Config) { c.Open = true }, func(d *api.Deps) { d.Finder = func() supervise.Finder { return f } })
	ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", about("Night theme")), http.StatusCreated)
	in := about("Dark mode")
	in.CheckDuplicates = new(true)
	first := ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", in, "Idempotency-Key", "k"), http.StatusCreated)
	require.Len(t, f.asked, 1)
	f.same = "Night theme"
	again := ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", in, "Idempotency-Key", "k"), http.StatusOK)
	require.Equal(t, first.ID, again.ID)
	require.Len(t, f.asked, 1)
	w.call(http.MethodPost, "/api/v1/tasks", in, "Idempotency-Key", "other").refused(http.StatusConflict, "body.force_create")
	in.Description += " Now."
	require.Equal(t, task.KindKeyReused, w.call(http.MethodPost, "/api/v1/tasks", in, "Idempotency-Key", "k").refused(http.StatusConflict, "header.Idempotency-Key").Code)
	require.Len(t, f.asked, 1, "another body under the key asks no model either")
}
