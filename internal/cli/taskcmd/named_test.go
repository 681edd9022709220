package taskcmd_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// A task is shown by its key, and found by its key in upper or lower case.
func TestTask_IsNamedByItsKey(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	one := aTask(idA, task.StatusFailed)
	one.Key, one.Why = "APP-12", "Task "+idA+" failed."
	f.tasks, f.done, f.settled = []client.Task{one, aTask(idB, task.StatusCompleted)}, true, true
	require.Regexp(t, `(?m)^APP-12 +failed`, f.omoi("ps").out)
	require.Contains(t, f.omoi("__complete", "show", "").out, "APP-12")
	for _, ref := range []string{"APP-12", "app-12", idA, "456789ab"} {
		got := f.omoi("show", ref)
		require.Zero(t, got.code, got.err)
		require.Regexp(t, `Task +APP-12  `+idA, got.out)
		require.Contains(t, got.out, "Task APP-12 failed.")
		require.Contains(t, got.out, "omoi retry APP-12")
	}
	retried := f.omoi("retry", "app-12")
	require.Zero(t, retried.code, retried.err)
	require.Contains(t, retried.out, "Task APP-12: retry")
	require.True(t, strings.HasPrefix(strings.Join(f.asked, ""), "retry "+idA), f.asked)
	require.Contains(t, f.omoi("show", "APP-13").err, "No task has the ID or key app-13")
}

func TestRun_PrintsTheKey(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{aTask(idA, task.StatusPending)}
	f.tasks[0].Key = "APP-12"
	got := f.omoi("run", "text", "--repo", "/repo", "--agent", "external")
	require.True(t, strings.HasPrefix(got.out, "APP-12  pending"), got.out)
	require.Contains(t, got.out, "omoi logs -f APP-12, or omoi show APP-12")
}

func TestProjectsAndTickets_AreNamedByTheirKeys(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	projects := []client.Project{{ID: idA, Key: "APP", Name: "web"}, {ID: idB, Key: "APP2", Name: "APP"}}
	var made client.CreateProjectRequest
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/projects", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, client.Page[client.Project]{Items: projects})
	})
	mux.HandleFunc("POST /api/v1/projects", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewDecoder(r.Body).Decode(&made) // missing fields are reported below
		answer(w, http.StatusCreated, projects[0])
	})
	mux.HandleFunc("GET /api/v1/projects/{id}/deletion", func(w http.ResponseWriter, r *http.Request) {
		answer(w, http.StatusOK, client.ProjectDeletion{Project: client.Project{ID: r.PathValue("id"), Key: "APP2"}})
	})
	mux.HandleFunc("GET /api/v1/tickets", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, client.Page[client.Ticket]{Items: []client.Ticket{{ID: idC, Key: "APP-T7", Title: "t"}}})
	})
	mux.HandleFunc("GET /api/v1/tickets/app-t7", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, client.Ticket{ID: idC, Key: "APP-T7"})
	})
	mux.HandleFunc("GET /api/v1/tasks", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, client.Page[client.Task]{}) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	f.url = server.URL
	require.Contains(t, f.omoi("__complete", "run", "text", "--project", "").out, "APP\tweb")

	require.Regexp(t, `(?m)^APP +web`, f.omoi("project", "list").out)
	require.Contains(t, f.omoi("project", "delete", "app2").out, "project APP2")
	require.Contains(t, f.omoi("project", "delete", "APP").err, "matches 2 projects", "the key of one and the name of another")
	require.Zero(t, f.omoi("project", "create", "--name", "web", "--key", "APP").code)
	require.Equal(t, "APP", made.Key)
	require.Regexp(t, `(?m)^APP-T7 `, f.omoi("ticket", "list").out)
	require.Regexp(t, `Ticket +APP-T7  `+idC, f.omoi("ticket", "show", "APP-T7").out)
}
