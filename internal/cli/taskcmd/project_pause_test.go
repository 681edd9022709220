package taskcmd_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
)

func TestProject_PauseAndResume(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	project := client.Project{ID: idA, Name: "app"}
	var asked []client.PauseRequest
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/projects", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(client.Page[client.Project]{Items: []client.Project{project}})
	})
	mux.HandleFunc("POST /api/v1/projects/{id}/{what}", func(w http.ResponseWriter, r *http.Request) {
		var in client.PauseRequest
		_ = json.NewDecoder(r.Body).Decode(&in)
		asked = append(asked, in)
		out := client.PauseResult{Project: project, TaskIDs: []string{}}
		out.Project.Paused, out.InstallationPaused = r.PathValue("what") == "pause", in.Reason == "while all is off"
		if in.Now && in.Reason != "again" || !out.Project.Paused {
			out.TaskIDs = append(out.TaskIDs, idM)
		}
		_ = json.NewEncoder(w).Encode(out)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	f.url = server.URL

	got := f.omoi("project", "pause", "app", "--now", "--reason", "a flood")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, "Suspending 1 task; their work is saved")
	require.Contains(t, got.out+got.err, "omoi project resume")
	require.Contains(t, f.omoi("project", "pause", "app").out, "Running tasks continue")
	require.Contains(t, f.omoi("project", "resume", "app").out, "Resumed project app: 1 task released")
	off := f.omoi("project", "resume", "app", "--reason", "while all is off")
	require.Contains(t, off.out, "ORCHESTRATOR_ENABLED=false")
	require.NotContains(t, off.out, "released")
	require.Contains(t, off.out, "omoi config show")
	asked = asked[:len(asked)-1]
	require.Equal(t, []client.PauseRequest{{Now: true, Reason: "a flood"}, {Reason: "asked for on the command line"}, {Reason: "asked for on the command line"}}, asked)
	require.Contains(t, f.omoi("project", "pause", "app", "--now", "--reason", "again").out, "no running task was left to suspend")
	var out client.PauseResult
	requireJSON(t, f.omoi("project", "pause", "app", "--now", "--json").out, &out)
	require.True(t, out.Project.Paused)
	require.Equal(t, []string{idM}, out.TaskIDs)
	require.Equal(t, exit.Usage, f.omoi("project", "pause").code)
	require.Equal(t, exit.Failed, f.omoi("project", "pause", "nobody", "--now").code)
}
