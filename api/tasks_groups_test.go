package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// grouped creates tasks in states of all groups; the first has the title "task 0".
func (w *world) grouped(states ...string) (keys []string) {
	w.t.Helper()
	for n, state := range states {
		in := newTask()
		in.Title = fmt.Sprintf("Task %d", n)
		made := w.task(in)
		w.exec(`UPDATE tasks SET queued_at = NULL, `+state+` WHERE id = $1`, made.ID)
		keys = append(keys, made.Key)
	}
	return keys
}

func (w *world) listed(query string) (keys []string, next *string) {
	w.t.Helper()
	page := ok[client.Page[client.Task]](w.call(http.MethodGet, "/api/v1/tasks?"+query, nil), http.StatusOK)
	for _, item := range page.Items {
		keys = append(keys, item.Key)
	}
	return keys, page.NextCursor
}

const endedAt = ", completed_at = now() + interval "

func TestListTasks_OrderOfGroupsHasEachTaskOnceOverPages(t *testing.T) {
	t.Parallel()
	w := open(t)
	k := w.grouped(
		"status = 'failed'"+endedAt+"'3 min'", "status = 'completed'"+endedAt+"'5 min'", "status = 'cancelled'"+endedAt+"'4 min'",
		"score = 1.5", "score = 7.25", "status = 'validating'", "status = 'running', updated_at = now() + interval '1 min'",
		"status = 'assigned', updated_at = now() + interval '2 min'", "blocked_reason = 'review'", "blocked_reason = 'suspended'",
		"score = 1.51, queue_position = 1", "score = 1.51, queue_position = 20", "score = 1.51, queue_position = NULL",
	)
	want := []string{k[8], k[7], k[6], k[5], k[4], k[10], k[11], k[12], k[3], k[9], k[1], k[2], k[0]}
	for limit := 1; limit <= len(want)+1; limit++ {
		var got []string
		for query := "order=group&limit=" + strconv.Itoa(limit); ; {
			keys, next := w.listed(query)
			if got = append(got, keys...); next == nil {
				break
			}
			query = fmt.Sprintf("order=group&limit=%d&cursor=%s", limit, *next)
		}
		require.Equal(t, want, got, "pages of %d", limit)
	}
	_, newest := w.listed("limit=1")
	for _, cursor := range []string{"x", *newest, "MSAyIDM", "OTk5OTk5OTk5OTkgMCAwMTkzNmI5NS0wMDAwLTcwMDAtODAwMC0wMDAwMDAwMDAwMDA"} { // of no list, of another order, without a UUID, beyond all ranks
		w.call(http.MethodGet, "/api/v1/tasks?order=group&cursor="+cursor, nil).refused(http.StatusUnprocessableEntity, "query.cursor")
	}
	w.call(http.MethodGet, "/api/v1/tasks?order=oldest", nil).refused(http.StatusUnprocessableEntity, "query.order")
}

func TestListTasks_FiltersByGroup(t *testing.T) {
	t.Parallel()
	w := open(t)
	k := w.grouped("blocked_reason = 'budget'", "blocked_reason = 'paused'", "status = 'completed'", "status = 'failed'")
	got, _ := w.listed("group=needs_you&group=failed&order=group")
	require.Equal(t, []string{k[0], k[3]}, got)
	got, _ = w.listed("group=waiting&status=completed")
	require.Empty(t, got, "filters narrow each other")
	p := w.call(http.MethodGet, "/api/v1/tasks?group=sleeping", nil).refused(http.StatusUnprocessableEntity, "query.group")
	require.Contains(t, p.Detail, "needs_you")
	one := ok[client.Task](w.call(http.MethodGet, "/api/v1/tasks/"+k[0], nil), http.StatusOK)
	require.Equal(t, task.GroupNeedsYou, one.Group)
}

func TestListTasks_FindsText(t *testing.T) {
	t.Parallel()
	w := open(t)
	k := w.grouped("title = 'Fix 100% of a_b'", "branch_name = 'feature/Heartbeat'")
	id := ok[client.Task](w.call(http.MethodGet, "/api/v1/tasks/"+k[1], nil), http.StatusOK).ID
	for text, want := range map[string][]string{
		"fix 100%": {k[0]}, "a_b": {k[0]}, "axb": nil, "heartBEAT": {k[1]}, k[0]: {k[0]}, id[30:]: {k[1]}, "/srv/git/APP": {k[1], k[0]},
	} {
		got, _ := w.listed("q=" + url.QueryEscape(text))
		require.Equal(t, want, got, text)
	}
	w.call(http.MethodGet, "/api/v1/tasks?q=%00", nil).refused(http.StatusUnprocessableEntity, "query.q")
}

func TestTaskCounts_CountWhatFiltersSelect(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.grouped("blocked_reason = 'review'", "score = 1", "status = 'completed'", "status = 'completed', agent = 'claude'", "status = 'validating'")
	counts := func(query string) client.TaskCounts {
		return ok[client.TaskCounts](w.call(http.MethodGet, "/api/v1/tasks/counts?"+query, nil), http.StatusOK)
	}
	require.Equal(t, client.TaskCounts{NeedsYou: 1, Waiting: 1, Checking: 1, Done: 2, Total: 5}, counts(""))
	require.Equal(t, client.TaskCounts{Done: 1, Total: 1}, counts("agent=claude"))
	require.Equal(t, client.TaskCounts{Waiting: 1, Total: 1}, counts("q=task+1"))
	require.Equal(t, client.TaskCounts{}, counts("project_id=NONE"))
	got, _ := w.listed("agent=claude")
	require.Len(t, got, 1)
}

// The question of an agent that has waited for hours is found without a look at its heartbeats.
func TestTasks_QuestionBeforeHoursOfHeartbeats(t *testing.T) {
	t.Parallel()
	w := open(t)
	waits := w.task(newTask())
	box := w.begin(waits)
	w.exec(`UPDATE tasks SET status = 'running'`)
	said := map[string]any{"event_type": "agent.message", "event_data": map[string]any{"content": "Which version?"}}
	ok[client.ReceivedEvent](w.call(http.MethodPost, wire+box+"/events", said), http.StatusOK)
	w.report(box, 1, "agent.waiting")
	w.exec(`INSERT INTO sandbox_events (sandbox_id, sequence, partition_month, event_type, event_data)
		SELECT id, last_sequence + n, partition_month, 'agent.heartbeat', '{}' FROM sandboxes, generate_series(1, 10001) n WHERE id = $1`, box)
	w.exec(`UPDATE sandboxes SET last_sequence = last_sequence + 10001 WHERE id = $1`, box)
	one, err := w.store.Task(t.Context(), w.org, waits.ID)
	require.NoError(t, err)
	require.Equal(t, "Which version?", one.Said)
}

// An agent that waits for a message needs a user, until it works again.
func TestTasks_AgentThatWaitsForAMessageNeedsAUser(t *testing.T) {
	t.Parallel()
	w := open(t)
	waits, works := w.task(newTask()), w.task(newTask())
	box, other := w.begin(waits), w.begin(works)
	w.exec(`UPDATE tasks SET status = 'running'`)
	group := func() task.Group {
		return ok[client.Task](w.call(http.MethodGet, "/api/v1/tasks/"+waits.ID, nil), http.StatusOK).Group
	}
	w.report(other, 1, "agent.waiting", "agent.message")
	said := map[string]any{"event_type": "agent.message", "event_data": map[string]any{"content": "Which version\nof the database?"}}
	ok[client.ReceivedEvent](w.call(http.MethodPost, wire+box+"/events", said), http.StatusOK)
	w.report(box, 1, "agent.thinking", "agent.waiting", "agent.heartbeat", "agent.checkpoint")
	require.Equal(t, task.GroupNeedsYou, group())
	got, _ := w.listed("group=needs_you")
	require.Equal(t, []string{waits.Key}, got)
	got, _ = w.listed("order=group")
	require.Equal(t, []string{waits.Key, works.Key}, got)
	page := ok[client.Page[client.Task]](w.call(http.MethodGet, "/api/v1/tasks?group=needs_you", nil), http.StatusOK)
	require.Contains(t, page.Items[0].Why, "wait") // the sentence, or its code
	counts := ok[client.TaskCounts](w.call(http.MethodGet, "/api/v1/tasks/counts", nil), http.StatusOK)
	require.Equal(t, client.TaskCounts{NeedsYou: 1, Running: 1, Total: 2}, counts)

	w.report(box, 5, slices.Repeat([]string{"agent.heartbeat"}, 300)...)
	require.Equal(t, task.GroupNeedsYou, group())
	read, err := w.store.Tasks(t.Context(), w.org, client.TaskQuery{Groups: []string{string(task.GroupNeedsYou)}})
	require.NoError(t, err)
	require.Equal(t, "Which version\nof the database?", read.Items[0].Said)
	one, err := w.store.Task(t.Context(), w.org, waits.ID)
	require.NoError(t, err)
	require.Equal(t, "Which version\nof the database?", one.Said)
	w.report(box, 305, "agent.message_injected")
	require.Equal(t, task.GroupRunning, group())
	w.report(box, 306, "agent.waiting")
	require.Equal(t, task.GroupNeedsYou, group())
	w.exec(`UPDATE tasks SET status = 'pending', sandbox_id = NULL WHERE id = $1`, waits.ID)
	require.Equal(t, task.GroupWaiting, group(), "its attempt ended, for example because the agent was killed")
	w.exec(`INSERT INTO sandboxes (id, organization_id, task_id, attempt, provider, machine, state) VALUES ('next', $1, $2, 2, 'external', false, 'running')`, w.org, waits.ID)
	w.exec(`UPDATE tasks SET status = 'running', sandbox_id = 'next' WHERE id = $1`, waits.ID)
	w.report(box, 307, "agent.waiting")
	require.Equal(t, task.GroupRunning, group(), "events of the sandbox before come late")
	w.report("next", 1, "agent.waiting")
	require.Equal(t, task.GroupNeedsYou, group())
	w.end(waits, task.StatusCompleted)
	require.Equal(t, task.GroupDone, group())
}
