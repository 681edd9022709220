package check

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// marked is an open task of a run of omoi check.
func marked(t *testing.T, id string, m mark) client.Task {
	t.Helper()
	execution, err := json.Marshal(map[string]any{"omoi_check": m})
	require.NoError(t, err)
	return client.Task{ID: id, TaskType: client.TypeCheck, Status: task.StatusRunning, Execution: execution}
}

func TestOnlyWhatNobodyEndsIsCancelled(t *testing.T) {
	t.Parallel()
	c := Config{Home: t.TempDir()}
	alive, killed := task.NewID(), task.NewID()
	defer c.hold(alive)()
	require.NoError(t, os.WriteFile(c.held(killed), nil, 0o600), "its process died with the lock")
	soon, past := time.Now().Add(time.Hour), time.Now().Add(-time.Second)
	work := marked(t, "work", mark{Run: "other", Until: past})
	work.TaskType = "implementation"
	tasks := []client.Task{
		work, marked(t, "alive", mark{Run: alive, Until: soon}), marked(t, "elsewhere", mark{Run: "other", Until: soon}),
		marked(t, "over", mark{Run: "other", Until: past}), marked(t, "killed", mark{Run: killed, Until: soon}),
	}
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		page := client.Page[client.Task]{}
		if r.Method == http.MethodPost {
			asked = append(asked, r.URL.Path)
			_ = json.NewEncoder(w).Encode(client.Asked{})
			return
		}
		if r.URL.Query().Get("status") == string(task.StatusRunning) {
			page.Items = tasks
		}
		_ = json.NewEncoder(w).Encode(page)
	}))
	defer server.Close()
	c.API = client.New(server.URL, "")
	require.Equal(t, " Cancelled too, left by a check that was killed: over, killed.", c.leftovers(t.Context()))
	require.Equal(t, []string{"/api/v1/tasks/over/cancel", "/api/v1/tasks/killed/cancel"}, asked)
}
