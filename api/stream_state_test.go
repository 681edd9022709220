package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/task"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

// seenState is what a reader of a stream with state=true knows.
type seenState struct {
	hello     client.StreamHello
	task      client.Task
	sandboxes map[string]client.Sandbox
	events    []client.ShortEvent
	versions  []int64
	lastID    string
}

// take reads frames until enough is true or the stream ends.
func (s *seenState) take(f *follower, enough func() bool) {
	f.t.Helper()
	for !enough() {
		var name, id string
		for {
			line, err := f.lines.ReadString('\n')
			if err != nil {
				return
			}
			field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			if field == "" {
				break
			}
			switch field {
			case "event":
				name = value
			case "id":
				id = value
			case "data":
				s.frame(f.t, name, id, []byte(value))
			}
		}
	}
}

func (s *seenState) frame(t *testing.T, name, id string, data []byte) {
	t.Helper()
	var f struct {
		Version int64           `json:"version"`
		Task    *client.Task    `json:"task"`
		Sandbox *client.Sandbox `json:"sandbox"`
	}
	switch name {
	case "hello":
		require.NoError(t, json.Unmarshal(data, &s.hello))
	case "event":
		var e client.ShortEvent
		require.NoError(t, json.Unmarshal(data, &e))
		s.events, s.lastID = append(s.events, e), id
	case "task", "sandbox":
		require.NoError(t, json.Unmarshal(data, &f))
		s.versions = append(s.versions, f.Version)
		if f.Task != nil {
			s.task = *f.Task
		}
		if f.Sandbox != nil {
			s.sandboxes[f.Sandbox.ID] = *f.Sandbox
		}
	}
}

func TestTaskStream_ShowsTheStateBesideTheEvents(t *testing.T) {
	t.Parallel()
	w := start(t, rarely)
	made := w.task(newTask())
	box := w.begin(made)
	w.report(box, 1, "agent.started", "x")
	const path = "/stream?state=true"
	stream := w.follow(t, "/api/v1/tasks/"+made.ID+path)
	s := &seenState{sandboxes: map[string]client.Sandbox{}}
	s.take(stream, func() bool { return len(s.events) == 2 && s.task.ID != "" && len(s.sandboxes) == 1 })
	require.Equal(t, []client.AttemptHead{{Attempt: 1, LastSequence: 2}}, s.hello.Attempts)
	require.Equal(t, "test", s.hello.ServerVersion)
	require.Equal(t, task.GroupRunning, s.task.Group)
	require.Len(t, s.task.Attempts, 1)
	w.exec(`UPDATE tasks SET title = 'Other' WHERE id = $1`, made.ID)
	w.call(http.MethodPost, wire+box+"/events", map[string]any{"event_type": "x", "event_data": map[string]string{"text": strings.Repeat("a", 3000)}})
	s.take(stream, func() bool { return len(s.events) == 3 && s.task.Title == "Other" })
	require.Equal(t, []client.TruncatedText{{Part: "/text", Bytes: 3000}}, s.events[2].Truncated)
	stream.close()

	w.report(box, 3, "x")
	w.end(made, task.StatusCompleted)
	again := w.follow(t, "/api/v1/tasks/"+made.ID+path, "Last-Event-ID", s.lastID)
	rest := &seenState{sandboxes: map[string]client.Sandbox{}}
	rest.take(again, func() bool { return false })
	again.close()
	require.Len(t, rest.events, 1, "the reader has the others")
	require.EqualValues(t, 4, rest.events[0].Sequence)
	require.Equal(t, task.GroupDone, rest.task.Group, "the last state comes before the end")
	require.IsIncreasing(t, append([]int64{0}, uniq(s.versions)...))
}

// flakyRows lists no sandboxes the first two times.
type flakyRows struct {
	api.Sandboxes

	asked *atomic.Int32
}

func (r flakyRows) SandboxRows(ctx context.Context, organizationID string, q client.SandboxQuery) (client.Page[task.Sandbox], error) {
	if r.asked.Add(1) <= 2 {
		return client.Page[task.Sandbox]{}, task.Errorf(task.CodeUnavailable, "The database does not answer.")
	}
	return r.Sandboxes.SandboxRows(ctx, organizationID, q)
}

// The last state comes before the end also if the database fails meanwhile.
func TestTaskStream_ReadsTheLastStateAgain(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	w := startWith(t, pgtest.New(t), live.New(), rarely, func(d *api.Deps) { d.Sandboxes = flakyRows{d.Sandboxes, &asked} })
	made := w.task(newTask())
	w.report(w.begin(made), 1, "x")
	w.end(made, task.StatusCompleted)
	stream := w.follow(t, "/api/v1/tasks/"+made.ID+"/stream?state=true")
	defer stream.close()
	s := &seenState{sandboxes: map[string]client.Sandbox{}}
	s.take(stream, func() bool { return false })
	require.Equal(t, task.GroupDone, s.task.Group)
	require.Greater(t, asked.Load(), int32(2))
}

// uniq returns numbers without repeats of neighbors: objects of one read have one version.
func uniq(numbers []int64) (out []int64) {
	for n, v := range numbers {
		if n == 0 || numbers[n-1] != v {
			out = append(out, v)
		}
	}
	return out
}

func TestTaskStream_HasNoNewFramesByDefault(t *testing.T) {
	t.Parallel()
	w := start(t, func(c *api.Config) { c.Open = true })
	made := w.task(newTask())
	w.report(w.begin(made), 1, "x")
	w.end(made, task.StatusCompleted)
	stream := w.follow(t, "/api/v1/tasks/"+made.ID+"/stream")
	defer stream.close()
	require.Equal(t, "1:1", stream.event().id)
	require.Equal(t, "end", stream.event().event)
}
