package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
)

// A reader may come from a server with more events: it gets a reset, and then all events of this server.
func TestStream_CursorBeyondTheLastEventIsReset(t *testing.T) {
	t.Parallel()
	w := start(t, func(c *api.Config) { c.Open, c.StreamBeat = true, time.Minute })
	made := w.task(newTask())
	box := w.begin(made)
	w.report(box, 1, "agent.started", "agent.tool_use")
	ofTask, ofSandbox := "/api/v1/tasks/"+made.ID+"/stream", wire+box+"/stream"
	for _, c := range []struct{ path, place, first string }{
		{ofSandbox, "3", "1"},
		{ofSandbox, box + ":99", "1"},
		{ofTask, "1:3", "1:1"},
		{ofTask, "2:1,1:2", "1:1"},
		{ofTask, "1:2,2:1", "1:1"},
		{wire + "unknown-yet/stream", "7", ""},
	} {
		f := w.follow(t, c.path, "Last-Event-ID", c.place)
		got := f.event()
		require.Equal(t, []string{"reset", ""}, []string{got.event, got.id}, c.place)
		require.Contains(t, f.raw.String(), `{"after":"`+c.place+`"}`)
		if c.first != "" {
			require.Equal(t, c.first, f.event().id)
		}
		f.close()
	}
	for path, place := range map[string]string{ofSandbox: "2", ofTask: "1:2"} {
		f := w.follow(t, path, "Last-Event-ID", place)
		w.report(box, 3, "agent.tool_use")
		require.Empty(t, f.event().event, "the newest place is a good one")
		f.close()
	}
}
