package taskcmd_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/task"
)

func (f *fakeAPI) serveOperator(mux *http.ServeMux) {
	f.serveVisits(mux)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, client.Readiness{Ready: true, Dependencies: []client.Dependency{{Name: "sandboxes", State: client.StateDown, Detail: "three stay"}}})
	})
	mux.HandleFunc("GET /api/v1/sandboxes/{id}/log", func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		after, _ := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
		part := client.SandboxLog{SandboxID: r.PathValue("id"), First: after, Next: after, Ended: true}
		if f.onLog != nil {
			f.onLog()
		}
		part.End = int64(len(f.logs[part.SandboxID]))
		if parts := f.logs[part.SandboxID]; after < int64(len(parts)) {
			part.Text, part.Next, part.Ended = parts[after], after+1, after+1 == int64(len(parts)) && r.URL.Query().Has("wait")
		} else {
			part.Ended = r.URL.Query().Has("wait")
		}
		part.Stale = f.stale > 0
		f.stale--
		answer(w, http.StatusOK, part)
	})
}

func (f *fakeAPI) attempts(status task.Status, boxes ...string) {
	t := aTask(idA, status)
	for n, box := range boxes {
		t.Attempts = append(t.Attempts, client.Attempt{Number: n + 1, SandboxID: box})
	}
	f.tasks = []client.Task{t}
}

func TestSandboxList_ShowsAlerts(t *testing.T) {
	t.Parallel()
	require.Contains(t, newFake(t).omoi("sandbox", "list").err, "ALERT: three stay")
}

func TestRawLogs_OfTheNewestAttempt(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.attempts(task.StatusRunning, "first", "second")
	f.logs = map[string][]string{"first": {"old\n"}, "second": {"one\n", "\x1b[31mtwo\n"}}
	got := f.omoi("logs", "--raw", "-")
	require.Zero(t, got.code, got.err)
	require.Equal(t, "one\n\x1b[31mtwo\n", got.out, "a pipe gets it as it is")
	require.Equal(t, 2, f.omoi("logs", "--raw", "--heartbeats", "-").code)

	f.attempts(task.StatusCompleted, "first", "second")
	require.Equal(t, "one\n\x1b[31mtwo\n", f.omoi("logs", "--raw", "-f", "-").out)

	f.attempts(task.StatusPending)
	require.Contains(t, f.omoi("logs", "--raw", "-").err, "the task has no sandbox")
}

// logs --raw ends at the size of the log at its start, although the agent continues to write.
func TestRawLogs_EndWhileTheAgentWrites(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.attempts(task.StatusRunning, "first")
	f.logs = map[string][]string{"first": {"one\n", "two\n"}}
	f.onLog = func() { f.logs["first"] = append(f.logs["first"], "more\n") }
	got := f.omoi("logs", "--raw", "-")
	require.Zero(t, got.code, got.err)
	require.Equal(t, "one\ntwo\nmore\n", got.out)

	f.onLog, f.logs = nil, map[string][]string{"first": {"<a>\n", "b\n"}}
	var texts []string
	for line := range strings.Lines(f.omoi("logs", "--raw", "--json", "-").out) {
		var part client.SandboxLog
		requireJSON(t, line, &part)
		texts = append(texts, part.Text)
	}
	require.Equal(t, []string{"<a>\n", "b\n"}, texts, "one JSON value a line")
}

// A stale answer lacks the newest output: logs --raw waits for an answer after a worker has read the log.
func TestRawLogs_WaitForAFreshAnswer(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.attempts(task.StatusRunning, "first")
	grow := func() { f.logs["first"] = append(f.logs["first"], "more\n") }
	for stale, want := range map[int]int{1: 2, 100_000: 20} {
		f.logs, f.onLog, f.stale = map[string][]string{}, grow, stale
		got := f.omoi("logs", "--raw", "-")
		require.Zero(t, got.code, got.err)
		require.Equal(t, strings.Repeat("more\n", want), got.out, "it ends also if none ever looks")
	}
}

func TestInterventions_ShowTheirState(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{{ID: idA, Status: task.StatusRunning}}
	require.Contains(t, f.omoi("guardian", "interventions").out, "No interventions")
	f.steps = []client.Intervention{
		{ID: idA, TaskID: idA, Attempt: 1, Level: guardian.LevelNudge, State: "sent", MessageState: "acknowledged", Content: "[GUARDIAN INTERVENTION - guidance] Stop\x1b."},
		{ID: idB, TaskID: idA, Attempt: 1, Level: guardian.LevelInterrupt, State: "recorded", Shadow: true},
		{ID: idC, TaskID: idA, Attempt: 1, Level: guardian.LevelObserve, State: "recorded", Shadow: true},
	}
	got := f.omoi("guardian", "interventions", "-")
	require.Zero(t, got.code, got.err)
	require.Regexp(t, `456789ab .* 1 +nudge +acknowledged +- +\[GUARDIAN INTERVENTION - guidance\] Stop`, got.out)
	require.Regexp(t, `interrupt +shadow`, got.out)
	require.Regexp(t, `observe +recorded`, got.out)
	require.NotContains(t, got.out, "\x1b")
	require.Contains(t, f.omoi("show", "-").out, "acknowledged", "a task tells of it too")
	var steps []client.Intervention
	requireJSON(t, f.omoi("guardian", "interventions", "--json").out, &steps)
	require.Len(t, steps, 3)
	require.Equal(t, exit.Failed, f.omoi("guardian", "withdraw", "zzzz").code)
}
