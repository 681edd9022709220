package e2e_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// workerOn starts a worker that is a machine of its own.
func (r *rig) workerOn(host, dir string) {
	r.start(host, map[string]string{"OMOI_WORKER_HOST_ID": host, "OMOI_SANDBOX_DIR": filepath.Join(r.dir, dir)}, "worker")
}

// TestAHostIsLostAndComesBack kills the machine of two sandboxes, one of them at work. Once a
// person gives it up, what is at work goes on elsewhere, what is being cleaned up ends, and
// nothing counts as unverified. What is left there is cleaned up when it comes back after all.
func TestAHostIsLostAndComesBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_REAPER_INTERVAL": "3s", "OMOI_TASK_HEARTBEAT_TIMEOUT": "60s"})
	r.startAPI()
	r.workerOn("one", "sandboxes-one")
	repo := r.repo()
	lives, over := r.submit(repo, script(stepHang)), r.submit(repo, script(stepHang))
	box, left := text(r.running(lives.ID).SandboxID), text(r.running(over.ID).SandboxID)
	require.Equal(t, exit.Failed, r.omoi("host", "mark-lost", "one", "--yes").code, "it reports")
	r.kill("one")
	r.workerOn("two", "sandboxes-two")
	_, _, err := r.api.Cancel(context.Background(), over.ID, "enough")
	require.NoError(t, err)
	r.eventually("the host is silent", func() bool { return r.omoi("host", "mark-lost", "one").code == exit.NeedsYou })
	require.Contains(t, r.omoi("host", "list").stdout, "offline")
	res := r.omoi("host", "mark-lost", "one", "--yes")
	require.Zero(t, res.code, res.stderr)
	require.Contains(t, res.stdout, "Marked host one as lost, with 2 sandboxes.")

	got := r.until(lives.ID, "has a second attempt at work", func(t task.Task) bool { return t.AttemptCount == 2 && t.Status == task.StatusRunning })
	require.Equal(t, task.ClassInfrastructure, got.Attempts[0].FailureClass)
	require.Equal(t, 1, r.count(`SELECT count(*) FROM sandboxes WHERE host_id = 'two'`))
	for _, id := range []string{box, left} {
		require.Equal(t, 1, r.count(`SELECT count(*) FROM sandboxes WHERE id = $1 AND state = 'lost' AND salvage ->> 'lost_since' <> ''`, id))
		r.eventually("nobody waits for the host", func() bool {
			run, err := r.temporal.DescribeWorkflowExecution(context.Background(), contract.CleanupWorkflowID(id), "")
			return err == nil && run.GetWorkflowExecutionInfo().GetCloseTime() != nil
		})
	}
	_, _, err = r.api.Cancel(context.Background(), lives.ID, "enough")
	require.NoError(t, err)
	r.ends(lives.ID, task.StatusCancelled)
	r.ends(over.ID, task.StatusCancelled)
	r.eventually("the reaper rests", r.reaperRests)

	r.workerOn("one", "sandboxes-one")
	r.noLeaks()
	r.gapless()
}

// TestAHostUnderAnotherName forgets who a machine is while a sandbox runs on it: its cleanup
// waits for the old name, and goes on under the new one with the work that is not committed.
func TestAHostUnderAnotherName(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_REAPER_INTERVAL": "3s", "OMOI_TASK_HEARTBEAT_TIMEOUT": "60s"})
	r.startAPI()
	r.workerOn("old", "sandboxes")
	made := r.submit(r.repo(), script(stepUnsaved, stepHang))
	box := text(r.running(made.ID).SandboxID)
	r.eventually("there is work to save", func() bool { return r.stored(box, "agent.tool_use") >= 1 })
	r.stop("old")
	r.workerOn("new", "sandboxes")
	_, _, err := r.api.Cancel(context.Background(), made.ID, "enough")
	require.NoError(t, err)
	r.ends(made.ID, task.StatusCancelled)
	r.noLeaks()
	require.Equal(t, 1, r.count(`SELECT count(*) FROM sandboxes WHERE host_id = 'new' AND salvage ->> 'kind' = 'ref'`))
}
