package taskcmd_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestWhy_ShowsTheNextCommand(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{aTask(idA, task.StatusFailed)}
	f.why = client.Explanation{
		TaskID: idA, Status: task.StatusFailed, State: explain.StandsFailed, Why: "Failed after 1 attempt (event 7 of attempt 1).", Next: "omoi retry " + idA,
		Evidence: []explain.Evidence{{Attempt: 1, Sequence: 7, Type: "agent.error", Message: "no\x1b compiler"}},
		Diagnosis: &explain.Diagnosis{
			Attempt: 1, Summary: "It failed.", Cause: "No compiler.", Proposal: "Install one.", Command: "omoi logs " + idA, Source: "rules", Confidence: 0.8,
			Evidence: []explain.Evidence{{Attempt: 1, Sequence: 7, Type: "agent.error", Message: "no\x1b compiler"}},
			Webhook:  &explain.Delivery{State: explain.DeliveryPending, Attempts: 2, Error: "the receiver answered 500"},
		},
	}
	got := f.omoi("why", "-")
	require.Zero(t, got.code, got.err)
	require.Equal(t, `Failed after 1 attempt (event 7 of attempt 1).
  event 7 of attempt 1  agent.error  no compiler
Diagnosis of attempt 1 by rules, confidence 0.8: It failed.
  Likely cause: No compiler.
  Proposed: Install one. (omoi logs 456789ab)
  Webhook pending after 2 attempts. the receiver answered 500
Next: omoi retry 456789ab
`, got.out)
	for want, e := range map[string]client.Explanation{
		"stuck: Attempt 1 is running.\n":         {State: explain.StandsStuck, Why: "Attempt 1 is running."},
		"Task cancelled: wrong idea.\n":          {State: explain.StandsCancelled, Why: "Task cancelled: wrong idea."},
		"suspended: Stopped: it is suspended.\n": {State: explain.StandsSuspended, Why: "Stopped: it is suspended."},
	} {
		f.why.State, f.why.Why = e.State, e.Why
		require.True(t, strings.HasPrefix(f.omoi("why", "-").out, want), want)
	}
	f.tasks[0].ProjectID, f.why.Next = idB, "omoi project resume "+idB
	require.Contains(t, f.omoi("why", "-").out, "Next: omoi project resume 456755cd\n")
	var e client.Explanation
	requireJSON(t, f.omoi("why", "-", "--json").out, &e)
	require.Equal(t, f.why, e)
	require.Equal(t, exit.Usage, f.omoi("why").code)
}

// The diagnosis does not repeat the reason of the explanation.
func TestWhy_DoesNotRepeatTheReason(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{aTask(idA, task.StatusFailed)}
	f.why = client.Explanation{
		State: explain.StandsFailed, Why: "Failed after 1 attempt (credentials): There is no key (event 7 of attempt 1).", Next: "omoi credentials set anthropic",
		Diagnosis: &explain.Diagnosis{Attempt: 1, Summary: "The task failed in attempt 1 (credentials): There is no key.", Reason: "There is no key", Source: "rules"},
	}
	got := f.omoi("why", "-").out
	require.Equal(t, 1, strings.Count(got, "There is no key"), got)
	require.Contains(t, got, "The task failed in attempt 1 (credentials).\n")
	f.why.Diagnosis.Summary, f.why.Diagnosis.Reason = "The task failed in attempt 1 (credentials): It was refused.", "It was refused"
	require.Contains(t, f.omoi("why", "-").out, "(credentials): It was refused.")
}

// history serves n events of a sandbox, newest first.
func history(t *testing.T, f *fakeAPI, box string, n int) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/sandboxes/"+box, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, client.Sandbox{ID: box, TaskID: idA, Attempt: 1})
	})
	mux.HandleFunc("GET /api/v1/sandboxes/"+box+"/events", func(w http.ResponseWriter, r *http.Request) {
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		page := client.SandboxEvents{Events: []client.SandboxEvent{}}
		for i := n; i > max(n-limit, 0); i-- {
			page.Events = append(page.Events, client.SandboxEvent{
				ID: fmt.Sprintf("%s:%d", box, i), EventType: "agent.message", EventData: json.RawMessage(fmt.Sprintf(`{"content": "word %d"}`, i)),
			})
		}
		answer(w, http.StatusOK, page)
	})
	behind := f.url
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, behind+r.URL.RequestURI(), http.StatusTemporaryRedirect)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	f.url = server.URL
}

func TestEvents_ThatRetentionRemoved(t *testing.T) {
	t.Parallel()
	const box, gone = "abcdefghijklmnopqrstuvwxyz", "The events of sandbox abcdefghijklmnopqrstuvwxyz were removed on 2026-11-23: older than retention.events."
	f := newFake(t)
	f.boxes = []client.Sandbox{{ID: box, TaskID: idA, Attempt: 1}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/sandboxes/"+box, func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, f.boxes[0]) })
	mux.HandleFunc("GET /api/v1/sandboxes/"+box+"/events", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, client.SandboxEvents{Events: []client.SandboxEvent{}})
	})
	mux.HandleFunc("GET /api/v1/sandboxes/"+box+"/counts", func(w http.ResponseWriter, _ *http.Request) { problem(w, task.CodeGone, gone) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	f.url = server.URL
	got := f.omoi("sandbox", "events", box)
	require.Equal(t, exit.Failed, got.code)
	require.Contains(t, got.err, strings.TrimSuffix(gone, "."))
	require.NotContains(t, got.err, "No such events")
}

func TestEvents_AreInOrder(t *testing.T) {
	t.Parallel()
	const box = "abcdefghijklmnopqrstuvwxyz"
	f := newFake(t)
	f.tasks = []client.Task{aTask(idA, task.StatusCompleted)}
	f.tasks[0].Attempts = []task.Attempt{{Number: 1, SandboxID: box}}
	f.boxes = []client.Sandbox{{ID: box, TaskID: idA, Attempt: 1}}
	history(t, f, box, 5)
	words := func(args ...string) string {
		t.Helper()
		got := f.omoi(append([]string{"sandbox", "events"}, args...)...)
		require.Zero(t, got.code, got.err)
		var out []string
		for line := range strings.Lines(got.out) {
			fields := strings.Fields(line)
			out = append(out, fields[0]+"="+fields[len(fields)-1])
		}
		return strings.Join(out, " ")
	}
	require.Equal(t, "1=1 2=2 3=3 4=4 5=5", words(box))
	require.Equal(t, "3=3 4=4 5=5", words(box, "-n", "3"))
	require.Equal(t, "5=5", words("uvwxyz", "-n", "1"), "a part of its id")
	require.Equal(t, "5=5", words("-", "-n", "1"), "a task's newest")
	var e client.SandboxEvent
	requireJSON(t, f.omoi("sandbox", "events", box, "-n", "1", "--json").out, &e)
	require.Equal(t, box+":5", e.ID)
	require.Equal(t, exit.Usage, f.omoi("sandbox", "events").code)
	require.Contains(t, f.omoi("sandbox", "events", "nothing-like-it").err, "omoi sandbox list --recent")
}

func TestRun_SetsABudget(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	got := f.omoi("run", "do it", "--repo", "/repo", "--agent", "external", "--budget-usd", "2.5", "--budget-wall-clock", "90m", "--dry-run", "--json")
	require.Zero(t, got.code, got.err)
	var in client.CreateTaskRequest
	requireJSON(t, got.out, &in)
	require.Equal(t, client.Budget{USD: 2.5, WallClockS: 5400}, *in.Budget)
	got = f.omoi("run", "do it", "--repo", "/repo", "--agent", "external", "--dry-run", "--json")
	require.NotContains(t, got.out, "budget")
	require.Equal(t, exit.Usage, f.omoi("run", "do it", "--repo", "/repo", "--budget-usd", "0", "--dry-run").code)
}

func TestOrganization_ShowsAndChangesThePlan(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	all := []client.Organization{{ID: idA, Name: "default", Plan: "unlimited", RunningTasks: 2}, {ID: idB, Name: "acme", Plan: "free", ConcurrencyLimit: new(1), QueuedTasks: 3}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/organizations", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, client.Page[client.Organization]{Items: all})
	})
	mux.HandleFunc("PATCH /api/v1/organizations/"+idB, func(w http.ResponseWriter, r *http.Request) {
		var in client.UpdateOrganizationRequest
		_ = json.NewDecoder(r.Body).Decode(&in)
		all[1].Plan = *in.Plan
		answer(w, http.StatusOK, all[1])
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	f.url = server.URL
	require.Contains(t, strings.Join(strings.Fields(f.omoi("organization", "list").out), " "), "default unlimited 2 none 0 no acme free 0 1 3 no")
	require.Contains(t, f.omoi("organization", "update", "acme", "--plan", "pro").out, "pro")
	require.Equal(t, exit.Usage, f.omoi("organization", "update", "--plan", "pro").code, "of two one has to be named")
	require.Contains(t, f.omoi("organization", "update", "nobody", "--plan", "pro").err, "No organization matches \"nobody\"")
}
