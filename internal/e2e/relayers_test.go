package e2e_test

import (
	"cmp"
	"context"
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// TestParallelRelayers runs fifty tasks over three APIs that are killed and restarted at
// random: every milestone arrives, and takes effect once.
func TestParallelRelayers(t *testing.T) {
	t.Parallel()
	const apis, tasks = 3, 50
	r := newRig(t, map[string]string{
		"OMOI_TASK_HEARTBEAT_TIMEOUT": "5m", "MAX_CONCURRENT_TASKS_PER_PROJECT": "100",
		"OMOI_TEST_RELAY_LEASE_DURATION": "15s", "OMOI_RELAY_DIGEST_INTERVAL": "5s",
	}).up()
	urls := []string{r.api.BaseURL()}
	env := []map[string]string{nil}
	for i := 1; i < apis; i++ {
		port := strconv.Itoa(freePort(t))
		urls = append(urls, "http://127.0.0.1:"+port)
		env = append(env, map[string]string{"OMOI_API_PORT": port, "OMOI_API_URL": urls[i]})
		r.start(apiName(i), env[i], "api")
	}
	repo := r.repo()
	var crowd sync.WaitGroup
	ids := make([]string, tasks)
	steps := make(chan struct{}, tasks*(errandEvents+1))
	for i := range tasks {
		crowd.Go(func() { ids[i] = r.errand(repo, "errand "+strconv.Itoa(i), urls, steps) })
	}
	go func() {
		crowd.Wait()
		close(steps)
	}()
	kills := r.havoc(steps, urls, env)
	t.Logf("%d APIs killed", kills)
	require.Positive(t, kills)

	for _, id := range ids {
		require.NotEmpty(t, id, "an errand was not done")
		got := r.ends(id, task.StatusCompleted)
		require.Equal(t, 1, got.AttemptCount)
		require.Zero(t, got.Retries)
		require.NotNil(t, got.StartedAt)
		require.Equal(t, map[string]int{"assigned": 1, "running": 1, "completed": 1}, r.projected(id))
	}
	require.Equal(t, tasks, r.count(`SELECT count(*) FROM tasks`))
	require.Equal(t, tasks, r.count(`SELECT count(*) FROM attempts WHERE outcome = 'completed'`))
	require.Equal(t, tasks, r.count(`SELECT count(*) FROM commands WHERE state = 'carried_out'`))
	require.Zero(t, r.count(`SELECT count(*) FROM sandbox_events WHERE (event_data ->> 'n')::bigint <> sequence`), "out of order")
	require.Equal(t, tasks*errandEvents, r.count(`SELECT count(*) FROM sandbox_events`))
	require.Zero(t, r.count(`SELECT count(*) FROM slots`))
	r.gapless()
	r.noLeaks()
}

func apiName(i int) string {
	if i == 0 {
		return "api"
	}
	return "api" + strconv.Itoa(i+1)
}

// errandEvents is how many events an errand has.
const errandEvents = 20

// errand asks for a task and works on it, at whichever API answers; it answers the task's
// id, or nothing if it did not get that far. Every step is told.
func (r *rig) errand(repo, title string, urls []string, steps chan<- struct{}) string {
	in := apiclient.CreateTaskRequest{Repo: repo, Title: title, Execution: json.RawMessage(once)}
	external(&in)
	var made task.Task
	anyone := func() *apiclient.Client { return apiclient.New(urls[rand.IntN(len(urls))], "") }
	const longer = 4 * patience // fifty at once
	ok := waitFor(longer, func() bool {
		var err error
		made, _, err = anyone().CreateTask(context.Background(), in, title)
		return err == nil
	})
	ok = ok && waitFor(longer, func() bool {
		got, err := anyone().Task(context.Background(), made.ID)
		if err == nil {
			made = got
		}
		return err == nil && got.SandboxID != nil
	})
	if !ok {
		return ""
	}
	steps <- struct{}{}
	a := &agent{r: r, box: text(made.SandboxID), spool: "errand", apis: urls}
	for len(a.said) < errandEvents {
		if !a.delivers(errandBatch(len(a.said) + 1)...) {
			return ""
		}
		first := rand.IntN(len(a.said))
		a.send(urls[rand.IntN(len(urls))], first+1, a.said[first:]) // again, as one whose answer was lost
		steps <- struct{}{}
	}
	return made.ID
}

// errandBatch is the next few events of an errand, numbered in their data.
func errandBatch(first int) []apiclient.CreateEventRequest {
	var batch []apiclient.CreateEventRequest
	for n := first; n <= min(first+rand.IntN(6), errandEvents); n++ {
		kind := "agent.tool_use"
		switch n {
		case 1:
			kind = "agent.started"
		case errandEvents / 2:
			kind = "agent.interrupted" // a milestone without effect
		case errandEvents:
			kind = "agent.completed"
		}
		batch = append(batch, newEvent(kind, `{"success":true,"n":`+strconv.Itoa(n)+`}`))
	}
	return batch
}

// havoc kills an API for every twenty steps and starts it again; it answers how many.
func (r *rig) havoc(steps <-chan struct{}, urls []string, env []map[string]string) int {
	r.t.Helper()
	kills, taken := 0, 0
	for range steps {
		if taken++; taken%20 != 0 {
			continue
		}
		kills++
		i := rand.IntN(len(urls))
		r.kill(apiName(i))
		r.start(apiName(i), env[i], "api")
		r.eventually("the API answers", func() bool {
			_, err := apiclient.New(urls[i], "").Info(context.Background())
			return err == nil
		})
	}
	return kills
}

// projected counts by status the projections in a task's history.
func (r *rig) projected(taskID string) map[string]int {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	counts := make(map[string]int)
	events := r.temporal.GetWorkflowHistory(ctx, contract.TaskWorkflowID(taskID), "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		require.NoError(r.t, err)
		if name := activityOf(e); name == contract.SaveTaskState || name == contract.StartAgent {
			counts[r.statusOf(e)]++
		}
	}
	return counts
}

// statusOf is the status that an event writes: SaveTaskState, as a local activity with its summary alone, or StartAgent.
func (r *rig) statusOf(e *history.HistoryEvent) string {
	var status string
	if e.GetMarkerRecordedEventAttributes() != nil {
		require.NoError(r.t, json.Unmarshal(e.GetUserMetadata().GetSummary().GetData(), &status))
		return status
	}
	var in struct {
		contract.Projection
		Assignment contract.Projection `json:"assignment"`
	}
	raw := e.GetActivityTaskScheduledEventAttributes().GetInput().GetPayloads()[0].GetData()
	require.NoError(r.t, json.Unmarshal(raw, &in))
	return string(cmp.Or(in.Status, in.Assignment.Status))
}
