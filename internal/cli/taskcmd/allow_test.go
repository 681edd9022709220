package taskcmd_test

import (
	"net/http"
	"strings"
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

	f.newest = []client.SandboxEvent{
		{ID: "box:60", EventType: "agent.message"}, {ID: "box:59", EventType: "agent.tool_refused"}, {ID: "box:57", EventType: "agent.tool_refused"},
	}
	got = f.omoi("allow", "-")
	require.Zero(t, got.code, got.err)
	require.Len(t, f.asked, 2)
	require.Contains(t, f.asked[1], "allows box:59", "the newest refusal")

	f.newest = nil
	got = f.omoi("allow", "-")
	require.Equal(t, exit.Failed, got.code)
	require.Contains(t, got.err, "has refused no call")
	require.Equal(t, exit.Usage, f.omoi("allow").code)
	f.tasks[0].SandboxID = nil
	require.Contains(t, f.omoi("allow", "-", "57").err, "no running attempt")
}

// serveRefusal serves each event as a refusal, by its ID or sequence.
func (f *fakeAPI) serveRefusal(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/v1/sandboxes/{id}/events/{event}", func(w http.ResponseWriter, r *http.Request) {
		answer(w, http.StatusOK, client.Event{
			ID: r.PathValue("id") + ":" + strings.TrimPrefix(r.PathValue("event"), r.PathValue("id")+":"), Type: "agent.tool_refused", Data: []byte(`{"command": "npm publish"}`),
		})
	})
}
