package taskcmd_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestAllow(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{aTask(idA, task.StatusRunning)}
	f.tasks[0].SandboxID = new("box")
	got := f.omoi("allow", "-", "57")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, "Allowed once: npm publish")
	require.Len(t, f.asked, 1)
	require.Contains(t, f.asked[0], "allows box:57")
	require.Contains(t, f.asked[0], "npm publish")

	got = f.omoi("allow", "-")
	require.Equal(t, exit.Failed, got.code)
	require.Contains(t, got.err, "has refused no call")
	require.Equal(t, exit.Usage, f.omoi("allow").code)
	f.tasks[0].SandboxID = nil
	require.Contains(t, f.omoi("allow", "-", "57").err, "no running attempt")
}

// serveRefusal serves event 57 as a refusal.
func (f *fakeAPI) serveRefusal(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/v1/sandboxes/{id}/events/{event}", func(w http.ResponseWriter, r *http.Request) {
		answer(w, http.StatusOK, client.Event{
			ID: r.PathValue("id") + ":" + r.PathValue("event"), Type: "agent.tool_refused", Data: []byte(`{"command": "npm publish"}`),
		})
	})
}
