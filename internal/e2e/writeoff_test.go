package e2e_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// TestTheReaperWakesForATask terminates a workflow that was started while the reaper slept.
func TestTheReaperWakesForATask(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_REAPER_INTERVAL": "3s", "OMOI_REAPER_GRACE_PERIOD": "1s", "OMOI_TASK_HEARTBEAT_TIMEOUT": "60s"}).up()
	r.eventually("the reaper rests", r.reaperRests)
	made := r.submit(r.repo(), script(stepHang))
	r.running(made.ID)
	require.False(t, r.reaperRests())
	r.terminate(made.ID)
	r.terminated(made.ID)
	r.noLeaks()
	r.eventually("the reaper rests again", r.reaperRests)
}

// TestWorkflowsThatNobodyLoaded ends workflows that no worker has seen: one is the reaper's,
// of the other somebody asks.
func TestWorkflowsThatNobodyLoaded(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_REAPER_INTERVAL": "3s", "OMOI_REAPER_GRACE_PERIOD": "1s"})
	r.startAPI()
	repo := r.repo()
	left, asked := r.submit(repo, script(stepWrite, stepCommit, stepComplete)), r.submit(repo, script(stepComplete))
	for _, id := range []string{left.ID, asked.ID} {
		r.eventually("its workflow is started", func() bool {
			_, err := r.temporal.DescribeWorkflowExecution(context.Background(), contract.TaskWorkflowID(id), "")
			return err == nil
		})
		r.terminate(id)
	}
	_, _, err := r.api.Cancel(context.Background(), asked.ID, "enough")
	conflict(t, err, "its workflow was terminated")
	r.terminated(asked.ID)

	_, err = r.pool.Exec(context.Background(), `INSERT INTO outages (part, since, until) VALUES ('frozen', now() - interval '1 min', 'infinity')`)
	require.NoError(t, err)
	r.startWorker()
	r.eventually("time counts again after an omoi dev that was killed", func() bool {
		return r.count(`SELECT count(*) FROM outages WHERE part = 'frozen' AND until = 'infinity'`) == 0
	})
	r.terminated(left.ID)
	require.Zero(t, r.count(`SELECT count(*) FROM slots`))
	r.retry(left.ID)
	r.ends(left.ID, task.StatusCompleted)
	r.noLeaks()
}

// TestADivergedBranchNeedsAnotherAttempt moves a branch under an agent: its work is not
// published, and a retry does not pretend that it was.
func TestADivergedBranchNeedsAnotherAttempt(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	repo := r.repo()
	made := r.submit(repo, script(stepWrite, stepCommit, stepUntilReleased, stepComplete))
	got := r.running(made.ID)
	other := r.run("git", "-C", repo, "-c", "user.name=t", "-c", "user.email=t@example.com",
		"commit-tree", "main^{tree}", "-p", "main", "-m", "somebody else")
	require.Zero(t, other.code, other.stderr)
	moved := r.run("git", "-C", repo, "update-ref", "refs/heads/"+text(got.Branch), strings.TrimSpace(other.stdout))
	require.Zero(t, moved.code, moved.stderr)
	r.release(made.ID)
	got = r.ends(made.ID, task.StatusFailed)
	require.Equal(t, task.ClassPublish, got.FailureClass)
	require.Contains(t, got.Why, "starts a new attempt")

	r.retry(made.ID)
	second := r.until(made.ID, "has a second attempt", func(t task.Task) bool {
		return t.AttemptCount == 2 && t.Status == task.StatusRunning
	})
	r.eventually("it lacks the commit of somebody else in its checkpoint, and makes its workspace from the branch", func() bool {
		return r.count(`SELECT count(*) FROM sandbox_events WHERE sandbox_id = $1 AND event_type = 'agent.tool_use'`, text(second.SandboxID)) > 0
	})
	r.release(made.ID)
	got = r.ends(made.ID, task.StatusCompleted)
	require.Equal(t, 2, got.AttemptCount)
	require.Equal(t, "hello\n", r.run("git", "-C", repo, "show", text(got.Branch)+":hello.txt").stdout)
	require.NotEmpty(t, text(got.PullURL))
	r.noLeaks()
}

// reaperRests reports whether the reaper's schedule is paused.
func (r *rig) reaperRests() bool {
	found, err := r.temporal.ScheduleClient().GetHandle(context.Background(), contract.ScheduleReaper).Describe(context.Background())
	return err == nil && found.Schedule.State.Paused
}

// TestASandboxThatTheDatabaseHasForgotten takes the rows of a running task away, as a database
// that was set back does. Its sandbox carries our label: it is found and removed all the same.
func TestASandboxThatTheDatabaseHasForgotten(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_REAPER_INTERVAL": "3s", "OMOI_REAPER_GRACE_PERIOD": "3s", "OMOI_TASK_HEARTBEAT_TIMEOUT": "60s"}).up()
	made := r.submit(r.repo(), script(stepHang))
	box := text(r.running(made.ID).SandboxID)
	r.kill("worker")
	_, err := r.pool.Exec(context.Background(), `WITH forgotten AS (DELETE FROM attempts) DELETE FROM tasks`)
	require.NoError(t, err)
	_, err = r.pool.Exec(context.Background(), `DELETE FROM sandboxes`)
	require.NoError(t, err)
	r.startWorker()
	r.eventually("the sandbox is in the ledger again, and verified gone", func() bool {
		return r.count(`SELECT count(*) FROM sandboxes WHERE id = $1 AND verified_at IS NOT NULL`, box) == 1
	})
	var salvage string
	require.NoError(t, r.pool.QueryRow(context.Background(), `SELECT salvage ->> 'kind' FROM sandboxes WHERE id = $1`, box).Scan(&salvage))
	require.Equal(t, task.SalvageLost, salvage)
	r.noLeaks()
}
