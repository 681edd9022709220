package e2e_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// TestTerminate ends workflows behind omoi's back: a running one, one that waits for a slot,
// and one whose history is deleted. The reaper cleans up, and a retry begins again.
func TestTerminate(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{
		"OMOI_REAPER_INTERVAL": "3s", "OMOI_REAPER_GRACE_PERIOD": "1s", "MAX_CONCURRENT_TASKS_PER_PROJECT": "1", "OMOI_TASK_HEARTBEAT_TIMEOUT": "60s",
	}).up()
	repo := r.repo()
	running := r.submit(repo, script(
		`{"bash":{"command":"echo try >> tries"}}`, `{"commit":"try"}`,
		`{"bash":{"command":"test $(wc -l < tries) -ge 2 || sleep 300","timeout_s":400}}`, stepComplete))
	first := r.running(running.ID)
	r.eventually("the first attempt has committed", func() bool { return r.stored(text(first.SandboxID), "agent.tool_use") >= 3 })
	queued := r.submit(repo, script(stepWrite, stepCommit, stepComplete))
	r.eventually("the second task waits", func() bool { return r.view(queued.ID).Stage == "queued" })
	next := r.outside(repo)

	r.terminate(queued.ID)
	r.terminated(queued.ID)
	require.Empty(t, r.task(queued.ID).Attempts)
	r.terminate(running.ID)
	r.terminated(running.ID)

	// the slot is repaired: the task behind it starts; its history is deleted while it runs
	a := r.agentOf(next.ID, 1)
	a.says(newEvent("agent.started"))
	r.running(next.ID)
	r.noLeaks()
	r.forget(next.ID)
	r.terminated(next.ID)
	require.Zero(t, r.count(`SELECT count(*) FROM slots`))
	r.eventually("the sandbox that nobody owns is closed", func() bool {
		return r.count(`SELECT count(*) FROM sandboxes WHERE state <> 'gone'`) == 0
	})

	for id, attempts := range map[string]int{running.ID: 2, queued.ID: 1} {
		r.retry(id)
		require.Equal(t, attempts, r.ends(id, task.StatusCompleted).AttemptCount)
	}
	require.Equal(t, text(first.Branch), text(r.task(running.ID).Branch))
	r.retry(next.ID)
	r.agentOf(next.ID, 2).completes()
	r.ends(next.ID, task.StatusCompleted)
	r.noLeaks()
	r.gapless()
}

// terminate runs `temporal workflow terminate` on a task.
func (r *rig) terminate(taskID string) {
	r.t.Helper()
	res := r.temporalCLI("workflow", "terminate", "-w", contract.TaskWorkflowID(taskID), "--reason", "a test")
	require.Zero(r.t, res.code, res.stderr)
}

// terminated waits until a task is written off.
func (r *rig) terminated(taskID string) {
	r.t.Helper()
	got := r.ends(taskID, task.StatusFailed)
	require.Equal(r.t, task.ClassTerminated, got.FailureClass)
	require.NotEmpty(r.t, text(got.ErrorMessage))
	require.Equal(r.t, got.AttemptCount > 0, got.SandboxID != nil, "it names its last sandbox")
	require.False(r.t, got.HoldsSlot)
	for _, attempt := range got.Attempts {
		require.NotNil(r.t, attempt.EndedAt)
	}
}

// forget deletes what Temporal knows of a task, as the end of its retention does.
func (r *rig) forget(taskID string) {
	r.t.Helper()
	res := r.temporalCLI("workflow", "delete", "-w", contract.TaskWorkflowID(taskID))
	require.Zero(r.t, res.code, res.stderr)
	r.eventually("temporal has dropped the history", func() bool {
		_, err := r.temporal.DescribeWorkflowExecution(context.Background(), contract.TaskWorkflowID(taskID), "")
		return err != nil
	})
}

// TestRetryOfATerminatedTask retries one while the agent of the run that was terminated still
// works: the next attempt begins with what that one had committed, and not beside it. The
// reaper would come far too late.
func TestRetryOfATerminatedTask(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{
		"OMOI_REAPER_INTERVAL": "600s", "OMOI_REAPER_GRACE_PERIOD": "600s", "OMOI_TASK_CLEANUP_TIMEOUT": "600s", "OMOI_TASK_HEARTBEAT_TIMEOUT": "60s",
	}).up()
	repo := r.repo()
	cancelled, retried := r.waitsAfterACommit(repo), r.waitsAfterACommit(repo)
	r.terminate(cancelled)
	_, _, err := r.api.Cancel(context.Background(), cancelled, "enough")
	conflict(t, err, "its workflow was terminated")
	r.terminate(retried) // without a cancel: it is written off by the retry itself
	for _, id := range []string{cancelled, retried} {
		r.retry(id)
		got := r.ends(id, task.StatusCompleted)
		require.Equal(t, 2, got.AttemptCount)
		require.Equal(t, task.ClassTerminated, got.Attempts[0].FailureClass)
		require.Equal(t, strings.Repeat("try\n", 2), r.run("git", "-C", repo, "show", text(got.Branch)+":tries").stdout, "the second attempt saw the first one's commit")
		require.Zero(t, r.count(`SELECT count(*) FROM sandboxes a JOIN sandboxes b ON a.task_id = b.task_id AND a.attempt = 1 AND b.attempt = 2
			WHERE a.task_id = $1 AND (a.gone_at IS NULL OR a.gone_at > b.created_at)`, id), "one at a time")
	}
	r.noLeaks()
	r.gapless()
}

// waitsAfterACommit brings a task to where its first attempt has committed and hangs; the second one completes.
func (r *rig) waitsAfterACommit(repo string) string {
	r.t.Helper()
	made := r.submit(repo, script(
		`{"bash":{"command":"echo try >> tries"}}`, `{"commit":"try"}`,
		`{"bash":{"command":"test $(wc -l < tries) -ge 2 || sleep 300","timeout_s":400}}`, stepComplete))
	first := r.running(made.ID)
	r.eventually("the first attempt has committed", func() bool { return r.stored(text(first.SandboxID), "agent.tool_use") >= 3 })
	return made.ID
}
