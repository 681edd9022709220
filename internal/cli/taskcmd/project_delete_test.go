package taskcmd_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestProjectsDelete_PreviewsUnlessConfirmed(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	preview := client.ProjectDeletion{Project: client.Project{ID: idA, Name: "app"}, Credentials: []string{"github"}, Tasks: 2, Tickets: 1}
	var deleted []string
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/projects", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, client.Page[client.Project]{Items: []client.Project{{ID: idA, Name: "app"}, {ID: idB, Name: idA[:8]}}})
	})
	mux.HandleFunc("GET /api/v1/projects/{id}/deletion", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, preview) })
	mux.HandleFunc("DELETE /api/v1/projects/{id}", func(w http.ResponseWriter, r *http.Request) {
		if len(preview.OpenTasks) > 0 {
			problem(w, task.CodeConflict, "Project app has open tasks.")
			return
		}
		deleted = append(deleted, r.PathValue("id"))
		w.WriteHeader(http.StatusNoContent)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	f.url = server.URL

	got := f.omoi("project", "delete", "app")
	require.Equal(t, exit.NeedsYou, got.code)
	require.Contains(t, got.out, "Credentials deleted:  github\nKept:  2 tasks and 1 ticket")
	require.Contains(t, got.err, "repeat the command with --yes")
	got = f.omoi("project", "delete", "app", "--json")
	var told client.ProjectDeletion
	requireJSON(t, got.out, &told)
	require.Equal(t, 2, told.Tasks)
	require.Empty(t, deleted)
	got = f.omoi("project", "delete", "app", "--yes")
	require.Zero(t, got.code, got.err)
	require.Equal(t, []string{idA}, deleted)
	require.Zero(t, f.omoi("project", "delete", idA[:8], "--yes").code)
	require.Equal(t, []string{idA, idB}, deleted, "a name goes before a part of an ID")
	preview.OpenTasks = []client.OpenTask{{ID: idC, Title: "Do it", Status: task.StatusRunning}}
	require.Contains(t, f.omoi("project", "delete", "app").out, "Open:  ")
	require.Contains(t, f.omoi("project", "delete", "app", "--yes").err, "has open tasks")
	require.Equal(t, exit.Usage, f.omoi("project", "delete").code)
}

func TestRun_NamesAProject(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	var body client.CreateTaskRequest
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/projects", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, client.Page[client.Project]{Items: []client.Project{{ID: idA, Name: "app"}}})
	})
	mux.HandleFunc("POST /api/v1/tasks", func(w http.ResponseWriter, r *http.Request) {
		body = client.CreateTaskRequest{}
		_ = json.NewDecoder(r.Body).Decode(&body)
		answer(w, http.StatusCreated, aTask(idB, task.StatusPending))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	f.url = server.URL
	got := f.with(call{dir: t.TempDir()}, "run", "Do it", "--project", "app")
	require.Zero(t, got.code, got.err)
	require.Equal(t, []string{idA, ""}, []string{body.ProjectID, body.Repo})
	require.Contains(t, f.omoi("run", "Do it", "--project", "app", "--dry-run").out, idA)
	require.Equal(t, exit.Usage, f.omoi("run", "Do it", "--project", "app", "--repo", ".").code)
	require.NotZero(t, f.omoi("run", "Do it", "--project", "nope").code)
}

func TestProjectLimit_WarnsOfZero(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/projects", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusCreated, client.Project{ID: idA, Name: "app"})
	})
	mux.HandleFunc("GET /api/v1/projects", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, client.Page[client.Project]{Items: []client.Project{{ID: idA, Name: "app"}}})
	})
	mux.HandleFunc("PATCH /api/v1/projects/{id}", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, client.Project{ID: idA, Name: "app"})
	})
	mux.HandleFunc("GET /api/v1/organizations", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, client.Page[client.Organization]{Items: []client.Organization{{ID: idB, Name: "org"}}})
	})
	mux.HandleFunc("PATCH /api/v1/organizations/{id}", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, client.Organization{ID: idB, Name: "org"})
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	f.url = server.URL
	const warning = "Warning: with a limit of 0 no task of "
	require.Contains(t, f.omoi("project", "create", "--name", "app", "--max-concurrent-tasks", "0").err, warning+"app starts")
	require.Contains(t, f.omoi("project", "update", "app", "--max-concurrent-tasks", "0").err, warning+"app starts")
	require.NotContains(t, f.omoi("project", "update", "app", "--setup", "x").err, warning)
	require.Contains(t, f.omoi("organization", "update", "org", "--max-concurrent-tasks", "0").err, warning+"the organization starts")
}
