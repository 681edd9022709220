package api_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/task"
)

// successor starts the next attempt of a task and returns its sandbox.
func (w *world) successor(made client.Task, number int) string {
	w.exec(`UPDATE attempts SET ended_at = now() WHERE task_id = $1 AND ended_at IS NULL`, made.ID)
	w.exec(`UPDATE sandboxes SET ended_at = now() WHERE task_id = $1 AND ended_at IS NULL`, made.ID)
	box := w.next(made, number)
	w.exec(`INSERT INTO attempts (task_id, number, sandbox_id, run_id, ordinal, assigned_at) VALUES ($1, $3::integer, $2, 'r', $3::integer, now())`, made.ID, box, number)
	return box
}

func TestTaskStream_LateEventsOfEarlierAttempts(t *testing.T) {
	t.Parallel()
	w := start(t, func(c *api.Config) { c.Open, c.StreamBeat = true, time.Minute })
	made := w.task(newTask())
	first := w.begin(made)
	w.report(first, 1, "agent.started")
	second := w.successor(made, 2)
	w.report(second, 1, "agent.started")
	path := "/api/v1/tasks/" + made.ID
	f := w.follow(t, path+"/stream")
	defer f.close()
	require.Equal(t, []string{"1:1", "2:1,1:1"}, []string{f.event().id, f.event().id})
	bare := w.follow(t, path+"/stream?after=2:1")
	defer bare.close()
	_, opened := bare.next()
	require.True(t, opened)
	seen := ok[client.TaskEventList](w.call(http.MethodGet, path+"/events", nil), http.StatusOK)
	w.report(first, 2, "agent.message")
	late := f.event()
	require.Equal(t, []any{"1:2,2:1", first + ":2", true}, []any{late.id, late.data.ID, late.data.Late})
	w.report(second, 2, "agent.message")
	require.Equal(t, "2:2,1:2", f.event().id)
	again := w.follow(t, path+"/stream", "Last-Event-ID", "1:2,2:1")
	defer again.close()
	require.Equal(t, "2:2,1:2", again.event().id, "nothing twice, nothing missed")
	page := ok[client.TaskEventList](w.call(http.MethodGet, path+"/events?cursor="+*seen.NextCursor, nil), http.StatusOK)
	require.Len(t, page.Items, 2, "pages include it too")
	require.Equal(t, "2:2,1:2", *page.NextCursor)
}

// An agent that a user cancels reports its end after the task is cancelled, and cleanup reads the rest of its spool.
func TestTaskStream_EndsAfterTheSandbox(t *testing.T) {
	t.Parallel()
	for name, over := range map[string]string{
		"deleted":           `UPDATE sandboxes SET gone_at = now() WHERE task_id = $1`,
		"lost":              `UPDATE sandboxes SET state = 'lost' WHERE task_id = $1`,
		"cannot be deleted": `UPDATE attempts SET ended_at = now() - interval '11 minutes' WHERE task_id = $1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, func(c *api.Config) { c.Open, c.StreamBeat = true, time.Minute })
			made := w.task(newTask())
			box := w.begin(made)
			w.report(box, 1, "agent.started")
			w.decide(made, task.StatusCancelled)
			ofTask, ofSandbox := w.follow(t, "/api/v1/tasks/"+made.ID+"/stream"), w.follow(t, wire+box+"/stream")
			defer ofTask.close()
			defer ofSandbox.close()
			for _, f := range []*follower{ofTask, ofSandbox} {
				require.Equal(t, int64(1), f.event().data.Sequence)
			}
			w.report(box, 2, "agent.completed")
			for _, f := range []*follower{ofTask, ofSandbox} {
				require.Equal(t, int64(2), f.event().data.Sequence)
			}
			w.exec(over, made.ID)
			w.bus.Wake(live.Task(made.ID))
			require.Equal(t, []string{"end", "end"}, []string{ofTask.event().event, ofSandbox.event().event})
		})
	}
}

// TestTaskStream_EachEventOnce has three attempts that report at random, and a reader that reconnects at random.
func TestTaskStream_EachEventOnce(t *testing.T) {
	t.Parallel()
	const each = 120
	w := start(t, func(c *api.Config) { c.Open, c.StreamBeat = true, time.Minute })
	made := w.task(newTask())
	boxes := []string{w.begin(made), w.successor(made, 2), w.successor(made, 3)}
	go func() {
		random, sent := rand.New(rand.NewPCG(5, 6)), [3]int{}
		for sent != [3]int{each, each, each} {
			if n := random.IntN(3); sent[n] < each {
				sent[n]++
				w.report(boxes[n], sent[n], "agent.tool_use")
			}
		}
	}()
	random, last, seen := rand.New(rand.NewPCG(7, 8)), "", map[string]int64{}
	for total := 0; total < 3*each; {
		f := w.follow(t, fmt.Sprintf("/api/v1/tasks/%s/stream?after=%s", made.ID, last))
		for range min(1+random.IntN(50), 3*each-total) {
			got := f.event()
			last, total = got.id, total+1
			require.Equal(t, seen[got.data.SandboxID]+1, got.data.Sequence, "in order, each once")
			seen[got.data.SandboxID]++
		}
		f.close()
	}
	require.Equal(t, map[string]int64{boxes[0]: each, boxes[1]: each, boxes[2]: each}, seen)
}
