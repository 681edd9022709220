package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// An empty page means that there is nothing new. For a cursor that this server never issued, an empty page would hide
// all events.
func TestUnknownCursor_IsAnError(t *testing.T) {
	t.Parallel()
	w := open(t)
	made := w.task(newTask())
	box := w.begin(made)
	w.report(box, 1, "agent.started", "heartbeat", "agent.tool_use")
	events := "/api/v1/tasks/" + made.ID + "/events?cursor="
	for _, place := range []string{"1:4", "2:1", "2:1,1:3", "1:3,2:1"} {
		said := w.call(http.MethodGet, events+place, nil).refused(http.StatusUnprocessableEntity, "query.cursor")
		require.Equal(t, task.KindInvalidCursor, said.Code)
	}
	require.Empty(t, ok[client.TaskEventList](w.call(http.MethodGet, events+"1:3", nil), http.StatusOK).Items,
		"the newest place is a good one")
	for _, direction := range []string{"newer", "older"} {
		require.Len(t, w.trajectory(box, "?direction="+direction+"&cursor="+box+":4").Events, 2, "an unknown cursor is none")
	}
	listed := ok[client.SandboxEvents](w.call(http.MethodGet, wire+box+"/events?cursor="+box+":99", nil), http.StatusOK)
	require.Len(t, listed.Events, 3)
}
