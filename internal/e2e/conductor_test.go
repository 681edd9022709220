package e2e_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/conductor"
	"github.com/omoi-dev/omoi/internal/task"
	modeltest "github.com/omoi-dev/omoi/internal/testkit/model"
)

// Two agents do the same. The conductor links their tasks, once in a cycle though its worker is
// killed, and a third task about it is not made without being asked for twice.
func TestTwoWhoDoTheSameAreLinked(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"MONITORING_CONDUCTOR_INTERVAL_SECONDS": "3600"}).up()
	repo, waits := r.repo(), script(`{"wait_message":{"timeout_s":600}}`)
	first, second := r.submit(repo, waits), r.submit(repo, waits)
	r.eventually("both wait", func() bool {
		return r.count(`SELECT count(*) FROM sandbox_events WHERE event_type = 'agent.waiting'`) == 2
	})
	r.eventually("the conductor is asked to run", func() bool { return r.omoi("conductor", "run").code == 0 }) // a busy server says: try again
	r.kill("worker")
	r.startWorker()
	linked := func() (all []conductor.Duplicate) {
		require.NoError(t, json.Unmarshal([]byte(r.omoi("conductor", "duplicates", second.ID, "--json").stdout), &all))
		return all
	}
	r.eventually("they are linked", func() bool { return len(linked()) == 1 })
	require.ElementsMatch(t, []string{first.ID, second.ID}, []string{linked()[0].TaskID, linked()[0].OtherID})
	require.Zero(t, r.count(`SELECT count(*) FROM (SELECT FROM conductor_analyses GROUP BY cycle_id, organization_id HAVING count(*) > 1) twice`))
	r.eventually("the status counts them", func() bool {
		return strings.Contains(r.omoi("conductor", "status").stdout, "1 pair; equal and nearly equal texts only")
	}) // a busy server is late

	again := r.omoi("run", "a task of the tests", "--repo", repo, "--agent", "external", "--check-duplicates")
	require.Equal(t, 4, again.code, again.stderr)
	require.Contains(t, again.stderr, "leave --check-duplicates out")
	for _, made := range []task.Task{first, second} {
		require.Zero(t, r.omoi("cancel", made.ID).code)
		r.ends(made.ID, task.StatusCancelled)
	}
	r.noLeaks()
}

// One call about a new task shows a model the open titles, and the same work in other words is refused.
func TestAModelFindsDuplicates(t *testing.T) {
	t.Parallel()
	same := map[string]any{"number": 0, "similarity_score": 0.9, "work_description": "A dark look.", "confidence": 0.9}
	model := modeltest.New(t, modeltest.Turn{Tools: []modeltest.Tool{{Name: "record_duplicates", Input: map[string]any{"duplicates": []any{same}}}}})
	r := newRig(t, map[string]string{
		"ANTHROPIC_BASE_URL": model.URL, "ANTHROPIC_API_KEY": "key", "ANTHROPIC_MODEL": "judge-1",
		"MONITORING_GUARDIAN_INTERVAL_SECONDS": "3600", "MONITORING_CONDUCTOR_INTERVAL_SECONDS": "3600",
	}).up()
	repo := r.repo()
	create := func(title string, more ...string) result {
		return r.omoi(append([]string{"run", title, "--repo", repo, "--agent", "external"}, more...)...)
	}
	require.Zero(t, create("Dark mode", "--check-duplicates").code)
	require.Empty(t, model.Requests(), "no task was open")
	again := create("Night theme", "--check-duplicates")
	require.Equal(t, 4, again.code, again.stderr)
	require.Contains(t, again.stderr, "Dark mode")
	require.True(t, model.Requests()[0].Says(`{"number":0,"title":"Dark mode"}`))
	require.Len(t, model.Requests(), 1)
}
