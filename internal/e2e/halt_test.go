package e2e_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// twoTries commits one more line with each attempt and leaves something uncommitted; the first attempt comes to no end.
func twoTries(more ...string) []string {
	return append(append([]string{`{"bash":{"command":"echo try >> tries"}}`, `{"commit":"try"}`, stepUnsaved}, more...),
		`{"bash":{"command":"test $(wc -l < tries) -ge 2 || sleep 600","timeout_s":600}}`,
		`{"bash":{"command":"wc -l < tries"}}`, `{"complete":{"output":"{{last_output}}","success":true}}`)
}

// stuck waits until the first attempt has come to where it stays.
func (r *rig) stuck(id string) task.Task {
	r.t.Helper()
	return r.until(id, "is at work", func(t task.Task) bool {
		return t.Status == task.StatusRunning && r.count(`SELECT count(*) FROM sandbox_events WHERE sandbox_id = $1
			AND event_type = 'agent.tool_use' AND event_data -> 'input' ->> 'command' LIKE '%sleep 600'`, *t.SandboxID) == 1
	})
}

// parked waits until the task is parked for a reason, without slot and sandbox.
func (r *rig) parked(id string, why task.BlockedReason) task.Task {
	r.t.Helper()
	got := r.until(id, "is parked", func(t task.Task) bool { return t.Status == task.StatusPending && t.Blocked == why })
	require.False(r.t, got.HoldsSlot)
	require.Nil(r.t, got.SandboxID)
	r.eventually("its sandbox is verified gone", func() bool {
		return r.count(`SELECT count(*) FROM sandboxes WHERE task_id = $1 AND verified_at IS NULL`, id) == 0
	})
	return r.task(id)
}

// goesOn wants the task to come to its end in a second attempt, with the work of both on one branch.
func (r *rig) goesOn(repo string, before task.Task) {
	r.t.Helper()
	got := r.ends(before.ID, task.StatusCompleted)
	require.Equal(r.t, before.Branch, got.Branch)
	require.Equal(r.t, []string{"first", "resumed"}, attemptsOf(got, func(a task.Attempt) string { return a.Kind }))
	require.Zero(r.t, got.Retries, "it was no failure")
	require.Contains(r.t, string(got.Result), `"2`)
	require.Equal(r.t, "2\n", r.run("git", "-C", repo, "rev-list", "--count", "main.."+text(got.Branch)).stdout)
	saved := got.Attempts[0].Salvage
	require.Equal(r.t, task.SalvageRef, saved.Kind)
	require.Equal(r.t, "not committed\n", r.run("git", "-C", repo, "show", saved.Ref+":notes.txt").stdout)
}

// again kills the API or the worker and starts it anew.
func (r *rig) again(name string, start func()) {
	r.t.Helper()
	r.kill(name)
	start()
}

// TestEverythingOfAProjectStopsAndGoesOn parks the tasks at work of one project while the worker is killed, and lets
// them go on while the API is: on their branches, with their work. Another project does not notice.
func TestEverythingOfAProjectStopsAndGoesOn(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_TASK_HEARTBEAT_TIMEOUT": "60s", "MAX_CONCURRENT_TASKS_PER_PROJECT": "2"}).up()
	repo, other := r.keepingRepo(), r.repo()
	var made []task.Task
	for range 2 {
		made = append(made, r.submit(repo, script(twoTries()...)))
	}
	queued := r.submit(repo, script(stepComplete))
	beside := r.submit(other, script(twoTries()...))
	for i := range made {
		made[i] = r.stuck(made[i].ID)
	}
	r.stuck(beside.ID)

	stopped := r.omoi("project", "pause", made[0].ProjectID, "--now", "--reason", "a flood")
	require.Zero(t, stopped.code, stopped.stderr)
	r.again("worker", r.startWorker)
	for _, m := range made {
		r.parked(m.ID, task.BlockedPaused)
	}
	later := r.submit(repo, script(stepComplete))
	for _, id := range []string{queued.ID, later.ID} {
		waits := r.task(id)
		require.Equal(t, task.StatusPending, waits.Status)
		require.Zero(t, waits.AttemptCount)
	}
	require.Equal(t, task.StatusRunning, r.task(beside.ID).Status)
	require.Equal(t, 1, r.task(beside.ID).AttemptCount)

	resumed := r.omoi("project", "resume", made[0].ProjectID)
	require.Zero(t, resumed.code, resumed.stderr)
	require.Equal(t, 2, strings.Count(resumed.stdout, "\n  "), resumed.stdout)
	r.again("api", r.startAPI)
	for _, m := range made {
		r.goesOn(repo, m)
	}
	r.ends(queued.ID, task.StatusCompleted)
	r.ends(later.ID, task.StatusCompleted)
	_, _, err := r.api.Cancel(context.Background(), beside.ID, "seen")
	require.NoError(t, err)
	require.Equal(t, 1, r.ends(beside.ID, task.StatusCancelled).AttemptCount)
	r.noLeaks()
	r.gapless()
}

// TestARaisedBudgetContinuesTheTask parks a task at its budget, restarts worker and API, and raises the budget: the same
// task goes on, on its branch, and what it used before counts.
func TestARaisedBudgetContinuesTheTask(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_TASK_HEARTBEAT_TIMEOUT": "60s"}).up()
	repo := r.keepingRepo()
	made := r.submit(repo, script(twoTries(`{"usage":{"input_tokens":10,"output_tokens":10,"cost_usd":1}}`)...),
		func(in *apiclient.CreateTaskRequest) { in.Budget = &apiclient.Budget{USD: 0.5} })
	before := r.parked(made.ID, task.BlockedBudget)
	require.Equal(t, 1, before.AttemptCount)
	require.Contains(t, before.Why, "budget")
	r.again("worker", r.startWorker)
	require.Equal(t, 1, r.task(made.ID).AttemptCount, "it goes on by nobody's restart")

	raised := r.omoi("budget", made.ID, "--usd", "10")
	require.Zero(t, raised.code, raised.stderr)
	r.again("api", r.startAPI)
	r.goesOn(repo, before)
	spent, err := r.api.TaskBudget(context.Background(), made.ID)
	require.NoError(t, err)
	require.InDelta(t, 2, *spent.Used.USD, 0.001, "of both attempts")
	r.noLeaks()
	r.gapless()
}
