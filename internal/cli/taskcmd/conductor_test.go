package taskcmd_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/conductor"
	"github.com/omoi-dev/omoi/internal/task"
)

// serveConductor serves an analysis of the conductor.
func (f *fakeAPI) serveConductor(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/v1/monitor/intelligent/status", func(w http.ResponseWriter, _ *http.Request) {
		age := 61.4
		answer(w, http.StatusOK, client.MonitorStatus{
			Config: client.MonitorConfig{ConductorInterval: 300},
			Conductor: client.ConductorStatus{Schedule: client.Schedule{Exists: true, Paused: true, Note: "paused by anna"}, LastRunAge: &age, Last: &client.ConductorAnalysis{
				Status: "unknown", AtMost: 0.93, Agents: 3, Analyzed: 1, Duplicates: 1, CreatedAt: time.Unix(0, 0),
				Details: json.RawMessage(`{"recommendations": ["Tasks a and b are alike by 0.91"], "phase_distribution": {"x": 3}, "load_balance": 1}`),
			}},
		})
	})
	mux.HandleFunc("GET /api/v1/conductor/duplicates", func(w http.ResponseWriter, r *http.Request) {
		f.locked(func() { f.asked = append(f.asked, "duplicates "+r.URL.Query().Get("task_id")) })
		answer(w, http.StatusOK, client.Page[conductor.Duplicate]{Items: []conductor.Duplicate{{
			TaskID: idA, OtherID: idB, Title: "Empty cart", OtherTitle: "Cart crash", Status: task.StatusRunning, OtherState: task.StatusCompleted,
			Source: "text", Similarity: 0.914, SeenAt: time.Unix(0, 0),
		}, {TaskID: idA, OtherID: idM, Title: "Twice asked", OtherTitle: "Twice asked", Source: "text", Similarity: 1, SeenAt: time.Unix(0, 0)}}})
	})
	mux.HandleFunc("POST /api/v1/schedules/{name}/{what}", func(w http.ResponseWriter, r *http.Request) {
		f.locked(func() { f.asked = append(f.asked, r.PathValue("what")+" "+r.PathValue("name")) })
		answer(w, http.StatusOK, client.Schedule{Exists: true})
	})
}

func TestConductor(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{{ID: idA, Status: task.StatusRunning}}
	got := f.omoi("conductor", "status")
	require.Zero(t, got.code, got.err)
	for _, part := range []string{"paused by anna", "omoi conductor resume", "5m0s", "1m1s ago", "unknown, at most 0.93", "alike by 0.91"} {
		require.Contains(t, got.out, part)
	}
	var status client.ConductorStatus
	require.NoError(t, json.Unmarshal([]byte(f.omoi("conductor", "status", "--json").out), &status))
	require.Equal(t, 3, status.Last.Agents)

	got = f.omoi("conductor", "duplicates", idA)
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, "0.91")
	require.Contains(t, got.out, "Empty cart / Cart crash")
	require.Equal(t, 1, strings.Count(got.out, "Twice asked"), "one title is said once")
	require.Contains(t, f.omoi("conductor", "duplicates", "--json").out, `"task2_id"`)
	for _, what := range []string{"run", "pause", "resume"} {
		require.Zero(t, f.omoi("conductor", what).code)
	}
	require.Equal(t, []string{"duplicates " + idA, "duplicates ", "run conductor", "pause conductor", "resume conductor"}, f.asked)
}

func TestRun_ChecksForDuplicates(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{{ID: idA, Status: task.StatusPending}}
	run := []string{"run", "Fix the cart", "--repo", "someone/app", "--agent", "external"}
	require.Zero(t, f.omoi(append(run, "--check-duplicates")...).code)
	require.True(t, *f.created[0].CheckDuplicates)
	require.Zero(t, f.omoi(run...).code)
	require.Nil(t, f.created[1].CheckDuplicates)

	f.refuse = &client.Problem{
		Status: http.StatusConflict, Code: task.KindDuplicateWork, Detail: "The most similar is task " + idB + ". Next: use that task, or set force_create",
		Errors: []client.ProblemDetail{{Location: "body.force_create"}},
	}
	got := f.omoi(append(run, "--check-duplicates")...)
	require.Equal(t, exit.NeedsYou, got.code)
	require.Contains(t, got.err, idB)
	require.Contains(t, got.err, "Next: use that task, or leave --check-duplicates out")
	require.Contains(t, f.omoi(append(run, "--check-duplicates", "--json")...).err, `"code":"duplicate_work"`)
}
