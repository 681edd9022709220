package e2e_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// stepAnswer is an answer of a model that costs a dollar.
const stepAnswer = `{"usage":{"input_tokens":10,"output_tokens":10,"cost_usd":1}}`

// answered waits until the agent of a task has told of n answers.
func (r *rig) answered(taskID string, n int) {
	r.t.Helper()
	box := text(r.running(taskID).SandboxID)
	r.eventually(sprintf("its agent has answered %d times", n), func() bool { return r.stored(box, "agent.assistant_message") >= n })
}

// TestTheBudgetOfAProjectBindsAcrossARestart has three agents at work on a budget of four dollars. Each spends a dollar, and
// a second one while the worker is dead: they overshoot by one answer each at most, and who waits behind them does not begin.
func TestTheBudgetOfAProjectBindsAcrossARestart(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const slots, answer, budget = 3, 1.0, 4.0
	r := newRig(t, map[string]string{"OMOI_TASK_HEARTBEAT_TIMEOUT": "60s", "MAX_CONCURRENT_TASKS_PER_PROJECT": "3"}).up()
	repo := r.repo()
	project, err := r.api.CreateProject(ctx, apiclient.CreateProjectRequest{Name: "bound", Repo: repo})
	require.NoError(t, err)
	_, err = r.api.SetProjectBudget(ctx, project.ID, apiclient.Budget{USD: budget})
	require.NoError(t, err)
	var made []task.Task
	for range slots + 2 {
		made = append(made, r.submit(repo, script(stepAnswer, stepUntilReleased, stepAnswer, stepHang)))
	}
	first, behind := made[:slots], made[slots:]
	for _, m := range first {
		r.answered(m.ID, 1)
	}
	r.kill("worker")
	for _, m := range first {
		r.release(m.ID)
		r.answered(m.ID, 2)
	}
	r.startWorker()
	for _, m := range first {
		require.Equal(t, 1, r.parked(m.ID, task.BlockedBudget).AttemptCount)
	}
	r.again("api", r.startAPI)
	spent, err := r.api.ProjectBudget(ctx, project.ID)
	require.NoError(t, err)
	require.Greater(t, *spent.Used.USD, budget)
	require.LessOrEqual(t, *spent.Used.USD, budget+slots*answer)
	for _, m := range behind {
		got := r.task(m.ID)
		require.Equal(t, []any{0, task.BlockedBudget, false}, []any{got.AttemptCount, got.Blocked, got.HoldsSlot}, got.QueueReason)
	}
	for _, m := range made {
		_, _, err = r.api.Cancel(ctx, m.ID, "seen")
		require.NoError(t, err)
		r.ends(m.ID, task.StatusCancelled)
	}
	r.noLeaks()
}

// watchSlots looks at the slots until the answer is called, which tells of the most that were held at a time.
func (r *rig) watchSlots() (most func() int) {
	r.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	seen := make(chan int, 1)
	go func() {
		held := 0
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			var n int
			<-tick.C
			if r.pool.QueryRow(ctx, `SELECT greatest((SELECT count(*) FROM slots), (SELECT count(*) FROM attempts WHERE ended_at IS NULL))`).Scan(&n) == nil {
				held = max(held, n)
			}
		}
		seen <- held
	}()
	r.t.Cleanup(stop)
	return func() int {
		stop()
		return <-seen
	}
}

// reap lets the reaper run once, to its end.
func (r *rig) reap() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	schedule := r.temporal.ScheduleClient().GetHandle(ctx, contract.ScheduleReaper)
	before, err := schedule.Describe(ctx)
	require.NoError(r.t, err)
	require.NoError(r.t, schedule.Trigger(ctx, client.ScheduleTriggerOptions{Overlap: enums.SCHEDULE_OVERLAP_POLICY_BUFFER_ONE}))
	r.eventually("the reaper's run is begun", func() bool {
		now, err := schedule.Describe(ctx)
		if err != nil || now.Info.NumActions == before.Info.NumActions {
			return false
		}
		run := now.Info.RecentActions[len(now.Info.RecentActions)-1].StartWorkflowResult
		require.NoError(r.t, r.temporal.GetWorkflow(ctx, run.WorkflowID, run.FirstExecutionRunID).Get(ctx, nil))
		return true
	})
}

// TestSlotsOutliveAKilledWorker kills the worker again and again while more tasks wait than may be at work. One of them is
// terminated meanwhile, so that nobody gives its slot back: it is free after one run of the reaper.
func TestSlotsOutliveAKilledWorker(t *testing.T) {
	t.Parallel()
	const slots = 2
	r := newRig(t, map[string]string{
		"OMOI_TASK_HEARTBEAT_TIMEOUT": "60s", "OMOI_REAPER_INTERVAL": "1h", "OMOI_REAPER_GRACE_PERIOD": "1s", "MAX_CONCURRENT_TASKS_PER_PROJECT": "2",
	}).up()
	most := r.watchSlots()
	repo := r.repo()
	var made []task.Task
	for range slots + 2 {
		made = append(made, r.submit(repo, script(stepWrite, stepUntilReleased, stepCommit, stepComplete)))
	}
	lost, goesOn, next, last := made[0], made[1], made[2], made[3]
	r.running(lost.ID)
	r.running(goesOn.ID)

	r.kill("worker")
	r.terminate(lost.ID)
	r.startWorker()
	r.eventually("it is silent for the grace of the reaper", func() bool {
		return r.count(`SELECT count(*) FROM tasks WHERE id = $1 AND updated_at < now() - interval '1 second'`, lost.ID) == 1
	})
	r.reap()
	require.Zero(t, r.count(`SELECT count(*) FROM slots WHERE task_id = $1`, lost.ID))
	require.Equal(t, 1, r.count(`SELECT count(*) FROM slots WHERE task_id = $1`, next.ID), "the next one has it at once")

	r.kill("worker")
	r.release(goesOn.ID)
	r.startWorker()
	for _, m := range []task.Task{next, last} {
		r.running(m.ID)
		r.again("worker", r.startWorker)
		r.release(m.ID)
	}
	r.terminated(lost.ID)
	for _, m := range []task.Task{goesOn, next, last} {
		require.Equal(t, 1, r.ends(m.ID, task.StatusCompleted).AttemptCount)
	}
	r.eventually("nobody holds a slot", func() bool { return r.count(`SELECT count(*) FROM slots`) == 0 })
	require.Equal(t, slots, most())
	r.noLeaks()
}
