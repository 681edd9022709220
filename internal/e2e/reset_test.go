package e2e_test

import (
	"context"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// resets are the two forms of `temporal workflow reset`: what came in after the point is
// applied again, or not.
func resets() map[string][]string {
	return map[string][]string{"re-applied": nil, "excluded": {"--reapply-exclude", "All"}}
}

// view is what the query state answers; the zero value while nobody does.
func (r *rig) view(taskID string) contract.TaskView {
	var view contract.TaskView
	answer, err := r.temporal.QueryWorkflow(context.Background(), contract.TaskWorkflowID(taskID), "", contract.QueryState)
	if err == nil {
		_ = answer.Get(&view)
	}
	return view
}

// runID is the newest run of a task's workflow.
func (r *rig) runID(taskID string) string {
	r.t.Helper()
	d, err := r.temporal.DescribeWorkflowExecution(context.Background(), contract.TaskWorkflowID(taskID), "")
	require.NoError(r.t, err)
	return d.GetWorkflowExecutionInfo().GetExecution().GetRunId()
}

// reset runs `temporal workflow reset` on a run, the newest one if it is empty, and answers the new one.
func (r *rig) reset(taskID, runID string, flags ...string) string {
	r.t.Helper()
	args := []string{"workflow", "reset", "-w", contract.TaskWorkflowID(taskID), "--reason", "a test"}
	if !slices.Contains(flags, "-e") {
		args = append(args, "-t", "FirstWorkflowTask")
	}
	if runID != "" {
		args = append(args, "-r", runID)
	}
	before := r.runID(taskID)
	res := r.temporalCLI(append(args, flags...)...)
	require.Zero(r.t, res.code, res.stderr)
	after := r.runID(taskID)
	require.NotEqual(r.t, before, after, "a reset begins a run")
	return after
}

// result waits for the end of a run that does not fail.
func (r *rig) result(taskID, runID string) contract.TaskResult {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var out contract.TaskResult
	require.NoError(r.t, r.temporal.GetWorkflow(ctx, contract.TaskWorkflowID(taskID), runID).Get(ctx, &out))
	return out
}

// snapshot is everything that the store knows of a task, in a comparable form.
func (r *rig) snapshot(taskID string) string {
	r.t.Helper()
	var out string
	require.NoError(r.t, r.pool.QueryRow(context.Background(), `SELECT jsonb_build_object(
		'task', (SELECT to_jsonb(t) - ARRAY['run_id', 'updated_at'] FROM tasks t WHERE t.id = $1),
		'attempts', (SELECT jsonb_agg(to_jsonb(a) ORDER BY number) FROM attempts a WHERE a.task_id = $1),
		'sandboxes', (SELECT jsonb_agg(to_jsonb(s) ORDER BY created_at) FROM sandboxes s WHERE s.task_id = $1),
		'commands', (SELECT jsonb_agg(to_jsonb(c) ORDER BY ordinal) FROM commands c WHERE c.task_id = $1),
		'slots', (SELECT count(*) FROM slots WHERE task_id = $1))::text`, taskID).Scan(&out))
	return out
}

func TestResetOfACompletedTask(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_TASK_HEARTBEAT_TIMEOUT": "60s"}).up()
	repo := r.repo()
	for how, flags := range resets() {
		made := r.submit(repo, script(stepWrite, stepCommit, stepComplete))
		r.ends(made.ID, task.StatusCompleted)
		r.noLeaks()
		require.Equal(t, task.StatusCompleted, r.result(made.ID, "").Status)
		before := r.snapshot(made.ID)
		got := r.result(made.ID, r.reset(made.ID, "", flags...))
		require.Equal(t, contract.TaskResult{Status: task.StatusCompleted, Reason: "already completed"}, got, how)
		require.JSONEq(t, before, r.snapshot(made.ID), how)
	}
}

// TestResetOfAnUnsuccessfulTask holds the reset of a task that failed or was cancelled to a
// retry: the next attempt, on the same branch.
func TestResetOfAnUnsuccessfulTask(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_TASK_HEARTBEAT_TIMEOUT": "60s"}).up()
	repo := r.repo()
	endings := []struct {
		name   string
		end    func(id string, a *agent)
		status task.Status
	}{
		{"failed", func(_ string, a *agent) { a.says(newEvent("agent.error", `{"error":"it broke"}`)) }, task.StatusFailed},
		{"cancelled by command", func(id string, _ *agent) {
			_, _, err := r.api.Cancel(context.Background(), id, "enough")
			require.NoError(t, err)
		}, task.StatusCancelled},
		{"cancelled by temporal", func(id string, _ *agent) {
			require.Zero(t, r.temporalCLI("workflow", "cancel", "-w", contract.TaskWorkflowID(id)).code)
		}, task.StatusCancelled},
		{"cancelled by a signal", func(id string, _ *agent) {
			require.Zero(t, r.signalCLI(id, contract.SignalCommand, `{"kind":"cancel","reason":"by signal"}`).code)
		}, task.StatusCancelled},
	}
	for _, ending := range endings {
		for how, flags := range resets() {
			t.Log(ending.name, how)
			made := r.outside(repo, retries(0))
			a := r.agentOf(made.ID, 1)
			a.says(newEvent("agent.started"), newEvent("agent.tool_use"))
			r.running(made.ID)
			ending.end(made.ID, a)
			ended := r.ends(made.ID, ending.status)
			r.closed(made.ID)

			r.reset(made.ID, "", flags...)
			next := r.agentOf(made.ID, 2)
			require.NotEqual(t, a.box, next.box)
			next.completes()
			got := r.ends(made.ID, task.StatusCompleted)
			require.Equal(t, 2, got.AttemptCount, "%s, %s", ending.name, how)
			require.Equal(t, text(ended.Branch), text(got.Branch))
			require.Nil(t, got.ErrorMessage)
			require.Equal(t, task.StatusCompleted, r.result(made.ID, "").Status)
		}
	}
	r.noLeaks()
	r.gapless()
}

// closed waits until no run of a task's workflow is open.
func (r *rig) closed(taskID string) {
	r.t.Helper()
	r.eventually("the workflow is closed", func() bool {
		d, err := r.temporal.DescribeWorkflowExecution(context.Background(), contract.TaskWorkflowID(taskID), "")
		return err == nil && d.GetWorkflowExecutionInfo().GetCloseTime() != nil
	})
}

// signalCLI runs `temporal workflow signal` on a task.
func (r *rig) signalCLI(taskID, name, input string) result {
	r.t.Helper()
	return r.temporalCLI("workflow", "signal", "-w", contract.TaskWorkflowID(taskID), "--name", name, "--input", input)
}

// TestResetOfARunningTask resets while a sandbox lives: no second attempt, and a cancel that
// comes afterwards is heard.
func TestResetOfARunningTask(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_TASK_HEARTBEAT_TIMEOUT": "60s"}).up()
	repo := r.repo()
	for how, flags := range resets() {
		made := r.outside(repo)
		a := r.agentOf(made.ID, 1)
		a.says(newEvent("agent.started"), newEvent("agent.tool_use"))
		r.running(made.ID)
		r.applied(made.ID, a.box)
		r.reset(made.ID, "", flags...)
		a.says(newEvent("agent.tool_use"), newEvent("agent.completed", `{"success":true}`))
		got := r.ends(made.ID, task.StatusCompleted)
		require.Equal(t, 1, got.AttemptCount, how)

		made = r.outside(repo)
		a = r.agentOf(made.ID, 1)
		a.says(newEvent("agent.started"))
		r.running(made.ID)
		run := r.reset(made.ID, "", flags...)
		r.eventually("the new run goes on", func() bool {
			return r.count(`SELECT count(*) FROM tasks WHERE id = $1 AND run_id = $2`, made.ID, run) == 1
		})
		_, _, err := r.api.Cancel(context.Background(), made.ID, "after the reset")
		require.NoError(t, err)
		got = r.ends(made.ID, task.StatusCancelled)
		require.Equal(t, 1, got.AttemptCount, how)
	}
	r.noLeaks()
	r.gapless()
}

// TestResetAfterTheSandboxDied kills the sandbox while no worker is there to see it, and resets.
func TestResetAfterTheSandboxDied(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	repo := r.repo()
	for how, flags := range resets() {
		made := r.submit(repo, script(
			`{"bash":{"command":"echo try >> tries"}}`, `{"commit":"try"}`,
			`{"bash":{"command":"test $(wc -l < tries) -ge 2 || sleep 300","timeout_s":400}}`, stepComplete))
		first := r.running(made.ID)
		r.until(made.ID, "has committed", func(task.Task) bool {
			return r.count(`SELECT count(*) FROM sandbox_events WHERE sandbox_id = $1 AND event_type = 'agent.tool_use'`, text(first.SandboxID)) >= 3
		})
		r.kill("worker")
		for _, pid := range processesWith(text(first.SandboxID)) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		r.reset(made.ID, "", flags...)
		r.startWorker()
		got := r.ends(made.ID, task.StatusCompleted)
		require.Equal(t, 2, got.AttemptCount, how)
		require.Equal(t, task.ClassInfrastructure, got.Attempts[0].FailureClass, how)
		r.noLeaks()
	}
	r.gapless()
}

// TestResetAroundContinueAsNew resets the run before a continue-as-new and the one after it,
// while the task runs, after it failed, and after it completed.
func TestResetAroundContinueAsNew(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_TASK_HEARTBEAT_TIMEOUT": "60s", "OMOI_TEST_MAX_SIGNALS_PER_RUN": "10"}).up()
	repo := r.repo()
	for how, flags := range resets() {
		for which, older := range map[string]bool{"the run before": true, "the run after": false} {
			t.Log(how, which)
			pick := func(before string) string {
				if older {
					return before
				}
				return ""
			}
			made, a, before := r.continued(repo)
			r.reset(made.ID, pick(before), flags...)
			a.says(newEvent("agent.tool_use"), newEvent("agent.completed", `{"success":true}`))
			require.Equal(t, 1, r.ends(made.ID, task.StatusCompleted).AttemptCount, "%s, %s", how, which)
			r.closed(made.ID)

			require.NoError(t, r.temporal.GetWorkflow(context.Background(), contract.CleanupWorkflowID(a.box), "").Get(context.Background(), nil))
			snapshot := r.snapshot(made.ID)
			got := r.result(made.ID, r.reset(made.ID, pick(before), flags...))
			require.Equal(t, "already completed", got.Reason, "%s, %s", how, which)
			require.JSONEq(t, snapshot, r.snapshot(made.ID))

			made, a, before = r.continued(repo)
			a.says(newEvent("agent.error", `{"error":"it broke"}`))
			r.ends(made.ID, task.StatusFailed)
			r.closed(made.ID)
			r.reset(made.ID, pick(before), flags...)
			r.agentOf(made.ID, 2).completes()
			require.Equal(t, 2, r.ends(made.ID, task.StatusCompleted).AttemptCount, "%s, %s", how, which)
		}
	}
	r.noLeaks()
	r.gapless()
}

// continued makes a task with an agent outside whose workflow has continued as new; it
// answers the run before.
func (r *rig) continued(repo string) (task.Task, *agent, string) {
	r.t.Helper()
	made := r.outside(repo, retries(0))
	r.t.Cleanup(func() { r.tell(made.ID) })
	a := r.agentOf(made.ID, 1)
	a.says(newEvent("agent.started"))
	r.running(made.ID)
	before := r.runID(made.ID)
	for range 12 {
		require.NoError(r.t, r.temporal.SignalWorkflow(context.Background(), contract.TaskWorkflowID(made.ID), "", contract.SignalAdmitted, nil))
	}
	r.eventually("the workflow has continued as new", func() bool { return r.runID(made.ID) != before })
	a.says(newEvent("agent.tool_use"))
	r.applied(made.ID, a.box) // temporal can reset a run only once it has begun
	return made, a, before
}

// tell shows the history of a task that was not completed when its test failed.
func (r *rig) tell(taskID string) {
	if r.t.Failed() && r.task(taskID).Status != task.StatusCompleted {
		r.t.Logf("%+v", r.view(taskID))
		r.t.Log(r.temporalCLI("workflow", "show", "-w", contract.TaskWorkflowID(taskID)).stdout)
	}
}
