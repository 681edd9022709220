package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestProjects_AreCreatedChangedAndListed(t *testing.T) {
	t.Parallel()
	w := open(t)
	const path = "/api/v1/projects"
	made := ok[client.Project](w.call(http.MethodPost, path, `{"repo":"/srv/git/app","name":"App","settings":{"a":1}}`),
		http.StatusCreated)
	require.Equal(t, []any{"App", goodRepo, 5, true, false},
		[]any{made.Name, made.Repo, made.MaxSlots, made.Autonomous, made.Paused})
	require.Contains(t, w.call(http.MethodPost, path, `{"repo":"/srv/git/app"}`).refused(http.StatusConflict, "").Detail,
		"Project App already has the repository /srv/git/app. Next: to change its settings, omoi project update App --setup")
	w.call(http.MethodPost, path, `{"repo":"/nowhere"}`).refused(422, "body.repo")
	w.call(http.MethodPost, path, `{}`).refused(422, "body.name")
	w.call(http.MethodPost, path, `{"name":"x","max_concurrent_tasks":-1}`).refused(422, "body.max_concurrent_tasks")
	w.call(http.MethodPost, path, `{"name":"x","settings":[]}`).refused(422, "body.settings")
	w.call(http.MethodPost, path, `{"name":"x","settings":{"model_prices":"glm=1"}}`).
		refused(422, "body.settings.model_prices")
	w.call(http.MethodPost, path, `{"name":"x","settings":{"model_prices":7}}`).refused(422, "body.settings.model_prices")
	w.call(http.MethodPost, path, `{"name":"x","settings":{"commit_leftovers":"no"}}`).refused(422, "body.settings.commit_leftovers")
	w.call(http.MethodPost, path, `{"name":"x","settings":{"repeat_tests":1}}`).refused(422, "body.settings.repeat_tests")
	w.call(http.MethodPost, path, `{"name":"x","settings":{"test_timeout_seconds":0}}`).refused(422, "body.settings.test_timeout_seconds")
	w.call(http.MethodPost, path, `{"name":"x","settings":{"test_timeout_seconds":"1m"}}`).refused(422, "body.settings.test_timeout_seconds")
	w.call(http.MethodPatch, path+"/"+made.ID, `{"settings":{"a":1,"model_prices":"glm=1/2"}}`)
	w.call(http.MethodPost, path, `{"name":"x","owner":"me"}`).refused(422, "body.owner")
	w.call(http.MethodPatch, path+"/"+made.ID, `{"name":"a\u0001"}`).refused(422, "body.name")
	w.call(http.MethodPatch, path+"/"+made.ID, `{"default_branch":"a b"}`).refused(422, "body.default_branch")
	changed := ok[client.Project](w.call(http.MethodPatch, path+"/"+made.ID,
		`{"max_concurrent_tasks":1,"description":"d"}`), http.StatusOK)
	require.Equal(t, []any{1, "d", "App"}, []any{changed.MaxSlots, changed.Description, changed.Name})
	changed = ok[client.Project](w.call(http.MethodPatch, path+"/"+made.ID, `{"setup":"make deps","setup_timeout_seconds":60}`),
		http.StatusOK)
	require.Equal(t, []any{"make deps", 60, "d"}, []any{changed.Setup, changed.SetupTimeoutS, changed.Description})
	w.call(http.MethodPatch, path+"/"+made.ID, `{"setup":"a\u0000"}`).refused(422, "body.setup")
	w.call(http.MethodPatch, path+"/"+made.ID, `{"setup_timeout_seconds":20000}`).refused(422, "body.setup_timeout_seconds")
	w.call(http.MethodPatch, path+"/"+made.ID, `{"repo":"/srv/git/other"}`).refused(http.StatusConflict, "body.repo")
	second := ok[client.Project](w.call(http.MethodPost, path, `{"name":"second","setup":"true"}`), http.StatusCreated)
	require.Equal(t, "true", second.Setup)
	require.Equal(t, changed, ok[client.Project](w.call(http.MethodGet, path+"/"+made.ID, nil), http.StatusOK))
	first := ok[client.Page[client.Project]](w.call(http.MethodGet, path+"?limit=1", nil), http.StatusOK)
	require.Equal(t, "second", first.Items[0].Name)
	next := ok[client.Page[client.Project]](w.call(http.MethodGet, path+"?limit=1&cursor="+*first.NextCursor, nil),
		http.StatusOK)
	require.Equal(t, "App", next.Items[0].Name)
	require.Nil(t, next.NextCursor)
}

// A repository is checked with the credential of its tasks: that of its project wins.
func TestCheckRepo_UsesTheCredentialOfTheProject(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.call(http.MethodPost, "/api/v1/tasks", `{"repo":"`+lockedRepo+`","agent":"external","description":"x"}`).
		refused(http.StatusForbidden, "")
	locked := ok[client.Project](w.call(http.MethodPost, "/api/v1/projects", `{"repo":"Acme/Locked"}`), http.StatusCreated)
	require.Equal(t, []any{lockedRepo, lockedRepo}, []any{locked.Repo, locked.Name},
		"its credential can be set once it is there")
	w.call(http.MethodPost, "/api/v1/tasks", `{"repo":"ACME/Locked","agent":"external","description":"x"}`).
		refused(http.StatusForbidden, "")
	who, _ := w.repos.who.Load().(scm.Owner)
	require.Equal(t, locked.ID, who.ProjectID)
}

// A project has the same name whether a user or the first task of its repository creates it.
func TestProject_DefaultNameIsThatOfTheRepository(t *testing.T) {
	t.Parallel()
	w := open(t)
	made := ok[client.Project](w.call(http.MethodPost, "/api/v1/projects", `{"repo":"/srv/git/app"}`), http.StatusCreated)
	require.Equal(t, []any{"app", goodRepo}, []any{made.Name, made.Repo})
}

func TestProjectLimit_RaiseAdmitsTasks(t *testing.T) {
	t.Parallel()
	w := open(t)
	first := w.task(newTask())
	path := "/api/v1/projects/" + first.ProjectID
	ok[client.Project](w.call(http.MethodPatch, path, `{"max_concurrent_tasks":1}`), http.StatusOK)
	second := w.task(newTask())
	require.False(t, second.HoldsSlot)
	require.Equal(t, 1, *second.QueuePosition)
	ok[client.Project](w.call(http.MethodPatch, path, `{"max_concurrent_tasks":2}`), http.StatusOK)
	got := ok[client.Task](w.call(http.MethodGet, "/api/v1/tasks/"+second.ID, nil), http.StatusOK)
	require.True(t, got.HoldsSlot)
	require.Nil(t, got.QueuePosition)
}

func TestCreateTicket_CreatesItsFirstTask(t *testing.T) {
	t.Parallel()
	w := open(t)
	const path = "/api/v1/tickets"
	body := `{"repo":"/srv/git/app","title":"Login fails","ticket_type":"bug","priority":"CRITICAL","context":{"a":1},"task":{"agent":"external","max_retries":0}}`
	made := ok[client.Ticket](w.call(http.MethodPost, path, body), http.StatusCreated)
	require.Equal(t, []string{"Login fails", "bug", "CRITICAL", "backlog"},
		[]string{made.Title, made.TicketType, made.Priority, made.Status})
	require.Len(t, made.TaskIDs, 1)
	first := ok[client.Task](w.call(http.MethodGet, "/api/v1/tasks/"+made.TaskIDs[0], nil), http.StatusOK)
	require.Equal(t, []any{"Login fails", "CRITICAL", 0, made.ID},
		[]any{first.Title, first.Priority, first.MaxRetries, first.TicketID})
	require.Equal(t, made, ok[client.Ticket](w.call(http.MethodGet, path+"/"+made.ID, nil), http.StatusOK))
	require.Len(t,
		ok[client.Page[client.Ticket]](w.call(http.MethodGet, path+"?project_id="+made.ProjectID, nil), http.StatusOK).Items,
		1)
	w.call(http.MethodPost, path, strings.Replace(body, `"bug"`, `"wish"`, 1)).refused(422, "body.ticket_type")
	w.call(http.MethodPost, path, strings.Replace(body, `Login fails`, ``, 1)).refused(422, "body.title")
	w.call(http.MethodPost, path, strings.Replace(body, `"context"`, `"contents"`, 1)).refused(422, "body.contents")
	w.call(http.MethodGet, path+"?project_id=x", nil).refused(422, "query.project_id")
}

// TestDeadline_RaisesScore sets deadlines by task, ticket and change, and expects the task with a deadline to be next.
func TestDeadline_RaisesScore(t *testing.T) {
	t.Parallel()
	w := open(t)
	first := w.task(client.CreateTaskRequest{Repo: goodRepo, Title: "a", Agent: "external"})
	ok[client.Project](w.call(http.MethodPatch, "/api/v1/projects/"+first.ProjectID, `{"max_concurrent_tasks":1}`),
		http.StatusOK)
	plain := w.task(client.CreateTaskRequest{Repo: goodRepo, Title: "b", Agent: "external"})
	soon := time.Now().Add(5 * time.Minute).UTC().Truncate(time.Second)
	urgent := w.task(client.CreateTaskRequest{
		Repo: goodRepo, Title: "c", Agent: "external", DeadlineAt: soon.In(time.FixedZone("", 3600)).Format(time.RFC3339),
	})
	get := func(id string) client.Task {
		return ok[client.Task](w.call(http.MethodGet, "/api/v1/tasks/"+id, nil), http.StatusOK)
	}
	require.Equal(t, soon, get(urgent.ID).DeadlineAt.UTC())
	require.Equal(t, []int{1, 2}, []int{*get(urgent.ID).QueuePosition, *get(plain.ID).QueuePosition})

	change := func(at string) answer {
		return w.call(http.MethodPatch, "/api/v1/tasks/"+plain.ID, `{"priority":"HIGH","deadline_at":"`+at+`"}`)
	}
	for _, bad := range []string{"", "tomorrow", "2090-01-31T18:00:00", "2020-01-31T18:00:00Z", "9999-12-31T23:59:59-12:00"} {
		change(bad).refused(422, "body.deadline_at")
	}
	require.Equal(t, "MEDIUM", get(plain.ID).Priority)
	ok[client.Task](change(soon.Format(time.RFC3339)), http.StatusOK)
	require.Equal(t, 1, *get(plain.ID).QueuePosition)

	body := `{"repo":"/srv/git/app","title":"Login fails","check_duplicates":false,"task":{"agent":"external","deadline_at":"2020-01-31T18:00:00Z"}}`
	w.call(http.MethodPost, "/api/v1/tickets", body).refused(422, "body.deadline_at")
	late := strings.Replace(body, "2020-01-31T18:00:00Z", "9999-12-31T23:59:59-12:00", 1)
	w.call(http.MethodPost, "/api/v1/tickets", late).refused(422, "body.deadline_at")
	none := strings.Replace(body, "2020-01-31T18:00:00Z", "", 1)
	w.call(http.MethodPost, "/api/v1/tickets", none).refused(422, "body.task.deadline_at")
	made := ok[client.Ticket](w.call(http.MethodPost, "/api/v1/tickets", strings.Replace(body, "2020", "2090", 1)),
		http.StatusCreated)
	require.Equal(t, 2090, get(made.TaskIDs[0]).DeadlineAt.Year())
}

func TestReadiness_NamesEachDependency(t *testing.T) {
	t.Parallel()
	w := open(t)
	ready := ok[client.Readiness](w.call(http.MethodGet, "/readyz", nil), http.StatusOK)
	require.Equal(t, client.Readiness{Ready: true, Dependencies: []client.Dependency{
		{Name: "database", State: "ok", Required: true}, {Name: "redis", State: "off"},
	}}, ready)
	w.pool.Close()
	down := ok[client.Readiness](w.call(http.MethodGet, "/readyz", nil), http.StatusServiceUnavailable)
	require.False(t, down.Ready)
	require.Equal(t, "down", down.Dependencies[0].State)
	require.Equal(t, http.StatusOK, w.call(http.MethodGet, "/healthz", nil).status, "liveness asks nobody")
}

// A request that fails because the database is unavailable gets a Retry-After header and stores nothing.
func TestDatabaseDown_ResponsesHaveRetryAfter(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.store.Close()
	for path, body := range map[string]string{
		"/events": `{"event_type":"x"}`, "/messages": `{"content":"x"}`,
		"/events/batch": `{"spool_id":"s","first":1,"events":[{"event_type":"x"}]}`,
	} {
		got := w.call(http.MethodPost, wire+"b"+path, body)
		got.refused(http.StatusServiceUnavailable, "")
		require.Equal(t, "1", got.header.Get("Retry-After"))
	}
	w.call(http.MethodGet, "/api/v1/tasks", nil).refused(http.StatusServiceUnavailable, "")
	login := start(t, func(*api.Config) {})
	login.store.Close()
	login.call(http.MethodGet, "/api/v1/tasks", nil, "X-API-Key", "k").refused(http.StatusServiceUnavailable, "")
}

func TestTicket_SaysWhichTaskBlocksIt(t *testing.T) {
	t.Parallel()
	w := open(t)
	first := w.task(newTask())
	second := w.task(client.CreateTaskRequest{
		TicketID: first.TicketID, Title: "Next", Agent: "external", DependsOn: &client.DependsOn{TaskIDs: []string{first.ID}},
	})
	w.begin(first)
	w.end(first, task.StatusCancelled)
	w.exec(`UPDATE tasks SET blocked_reason = 'dependency_failed' WHERE id = $1`, second.ID)
	path := "/api/v1/tickets/" + first.TicketID
	got := ok[client.Ticket](w.call(http.MethodGet, path, nil), http.StatusOK)
	require.Equal(t, "Task "+second.ID+" waits for task "+first.ID+", which failed or was cancelled.", got.BlockedWhy)
	w.end(first, task.StatusFailed)
	w.exec(`UPDATE tasks SET error_message = 'No compiler.' WHERE id = $1`, first.ID)
	got = ok[client.Ticket](w.call(http.MethodGet, path, nil), http.StatusOK)
	require.Equal(t, "Task "+first.ID+" failed: No compiler.", got.BlockedWhy)
	require.Equal(t, got.BlockedWhy,
		ok[client.Page[client.Ticket]](w.call(http.MethodGet, "/api/v1/tickets", nil), http.StatusOK).Items[0].BlockedWhy)
}
