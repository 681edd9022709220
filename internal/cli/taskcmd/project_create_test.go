package taskcmd_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestProjectCreate_WithSettings(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	var bodies []string
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/projects", func(w http.ResponseWriter, r *http.Request) {
		var in json.RawMessage
		_ = json.NewDecoder(r.Body).Decode(&in)
		bodies = append(bodies, string(in))
		if len(bodies) > 3 {
			problem(w, task.CodeConflict, "There is a project of this repository.")
			return
		}
		answer(w, http.StatusCreated, client.Project{ID: idA, Name: "app", MaxSlots: 2})
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	f.url = server.URL
	repo := filepath.Join(t.TempDir(), "my app")
	require.NoError(t, os.Mkdir(repo, 0o700))

	got := f.omoi("project", "create", "--repo", repo, "--max-concurrent-tasks", "2", "--setup", "make deps", "--setup-timeout", "5m", "--settings", `{"validate": true}`)
	require.Zero(t, got.code, got.err)
	require.JSONEq(t, `{"repo": "`+repo+`", "max_concurrent_tasks": 2, "setup": "make deps", "setup_timeout_seconds": 300, "settings": {"validate": true}}`, bodies[0])
	require.Contains(t, got.out, "app")
	require.Contains(t, got.out, "omoi run \"...\" --repo '"+repo+"'\n", "it can be typed")
	var made client.Project
	requireJSON(t, f.omoi("project", "create", "--repo", "acme/app", "--on-feedback", "revise", "--autonomous-execution=false", "--json").out, &made)
	require.Equal(t, idA, made.ID)
	require.JSONEq(t, `{"repo": "acme/app", "on_feedback": "revise", "autonomous_execution_enabled": false}`, bodies[1])
	require.Zero(t, f.omoi("project", "create", "--name", "notes").code)
	require.JSONEq(t, `{"name": "notes"}`, bodies[2])
	require.Contains(t, f.omoi("project", "create", "--repo", "acme/app").err, "There is a project of this repository")
	for _, bad := range [][]string{
		{},
		{"app"},
		{"--repo", "acme/app", "--settings", "validate"},
		{"--repo", "./no such folder"},
	} {
		require.Equal(t, exit.Usage, f.omoi(append([]string{"project", "create"}, bad...)...).code, bad)
	}
	require.Len(t, bodies, 4, "nothing else was asked for")
}
