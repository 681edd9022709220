package e2e_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// steps are the activities of a task and of its cleanup, in their order. Local activities are not among them.
func steps() []string {
	return []string{
		contract.EnsureBranch, contract.EnsureSandbox, contract.StartAgent, contract.CollectWork, contract.OpenPullRequest,
		contract.SaveTaskState, contract.Salvage, contract.DeleteSandbox, contract.VerifyDeleted, contract.RecordSandboxState,
	}
}

// localSteps are the local activities of a task and of its cleanup. A history tells of them once they are over.
func localSteps() []string {
	return []string{contract.LoadTask, contract.BeginAttempt, contract.LoadSandbox}
}

// activityOf is the activity that an event schedules, or tells of if it was a local one; empty for other events.
func activityOf(e *history.HistoryEvent) string {
	marker := e.GetMarkerRecordedEventAttributes()
	if marker.GetMarkerName() != "LocalActivity" {
		return e.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName()
	}
	local := map[string]any{}
	_ = json.Unmarshal(marker.GetDetails()["data"].GetPayloads()[0].GetData(), &local)
	name, _ := local["ActivityType"].(string)
	return name
}

// scheduled waits until the history of a task, or of the cleanup of its sandbox, schedules an activity.
func (r *rig) scheduled(taskID, activity string) {
	r.t.Helper()
	require.True(r.t, r.reaches(taskID, activity), "%s was never scheduled", activity)
}

// reaches is scheduled for a task that may end without the activity; false if it does.
func (r *rig) reaches(taskID, activity string) bool {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r.eventually("the workflow of "+taskID+" exists", func() bool {
		_, err := r.temporal.DescribeWorkflowExecution(ctx, contract.TaskWorkflowID(taskID), "")
		return err == nil
	})
	if r.follows(ctx, contract.TaskWorkflowID(taskID), activity) {
		return true
	}
	return r.follows(ctx, contract.CleanupWorkflowID(r.task(taskID).Attempts[0].SandboxID), activity)
}

// follows reads a history as it grows; true once the activity is scheduled, false once the
// sandbox is handed over.
func (r *rig) follows(ctx context.Context, workflowID, activity string) bool {
	events := r.temporal.GetWorkflowHistory(ctx, workflowID, "", true, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		require.NoError(r.t, err)
		if activityOf(e) == activity {
			return true
		}
		if e.GetEventType() == enums.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED {
			return false
		}
	}
	return false
}

// TestAPIKilledBetweenCommitAndRelay accepts a task while nothing can be relayed, kills the
// API, and sees the task carried out by the next one.
func TestAPIKilledBetweenCommitAndRelay(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	repo := r.repo()
	resume := r.freeze("start-dev")
	made := r.submit(repo, script(stepWrite, stepCommit, stepComplete))
	r.kill("api")
	resume()
	r.startAPI()
	r.ends(made.ID, task.StatusCompleted)
	r.noLeaks()
}

// freeze stops the parts of this rig that are named so, as an outage would; the answer lets
// them go on.
func (r *rig) freeze(part string) (resume func()) {
	r.t.Helper()
	pids := r.parts(part)
	for _, pid := range pids {
		require.NoError(r.t, syscall.Kill(pid, syscall.SIGSTOP))
	}
	resume = func() {
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	}
	r.t.Cleanup(resume)
	return resume
}

// parts are the processes of this rig whose command line names part.
func (r *rig) parts(part string) []int {
	r.t.Helper()
	var found []int
	for _, pid := range processesWith(part) {
		raw, err := os.ReadFile(filepath.Join("/proc", sprintf("%d", pid), "cmdline"))
		if err == nil && strings.Contains(string(raw), r.dir) {
			found = append(found, pid)
		}
	}
	require.NotEmpty(r.t, found, "no process of %s", part)
	return found
}

// TestTemporalStopped accepts a task, events and a cancel while Temporal is down; all arrive.
func TestTemporalStopped(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	repo := r.repo()
	hanging := r.submit(repo, script(stepWrite, stepHang))
	working := r.submit(repo, script(`{"sleep_s":4}`, stepWrite, stepCommit, stepComplete))
	r.running(hanging.ID)
	r.running(working.ID)

	resume := r.freeze("start-dev")
	accepted := r.submit(repo, script(stepWrite, stepCommit, stepComplete))
	asked, settled, err := r.api.Cancel(context.Background(), hanging.ID, "while Temporal is down")
	require.NoError(t, err)
	require.False(t, settled, "nobody could carry it out")
	r.eventually("events are stored meanwhile", func() bool {
		return r.count(`SELECT count(*) FROM sandbox_events e JOIN sandboxes s ON s.id = e.sandbox_id
			WHERE s.task_id = $1 AND event_type = 'agent.completed'`, working.ID) == 1
	})
	resume()

	r.ends(accepted.ID, task.StatusCompleted)
	r.ends(working.ID, task.StatusCompleted)
	r.ends(hanging.ID, task.StatusCancelled)
	require.Equal(t, task.ReceiptCarriedOut, r.command(asked.Command.ID).State)
	r.noLeaks()
	r.gapless()
}

// TestPostgresKilledInMidRun kills PostgreSQL with SIGKILL while an agent works.
func TestPostgresKilledInMidRun(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	made := r.submit(r.repo(), script(`{"flood":{"events":200,"bytes":200}}`, `{"sleep_s":3}`, `{"flood":{"events":200,"bytes":200}}`, stepWrite, stepCommit, stepComplete))
	r.running(made.ID)
	for _, pid := range r.parts("postgres") {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	got := r.ends(made.ID, task.StatusCompleted)
	require.Equal(t, 1, got.AttemptCount)
	r.noLeaks()
	r.gapless()
}

// TestEverythingOfOursDown stops API and relay for longer than every timer of three running
// tasks: none of them is replaced (P6).
func TestEverythingOfOursDown(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{
		"OMOI_TASK_HEARTBEAT_TIMEOUT": "2s", "OMOI_TASK_NO_WORK_TIMEOUT": "3s", "OMOI_TASK_STARTUP_TIMEOUT": "3s",
		"OMOI_TASK_IDLE_TIMEOUT": "3s", "OMOI_TASK_TOOL_TIMEOUT": "60s",
	}).up()
	repo := r.repo()
	var ids []string
	for range 3 {
		made := r.submit(repo, script(`{"bash":{"command":"sleep 12","timeout_s":60}}`, stepWrite, stepCommit, stepComplete))
		ids = append(ids, made.ID)
	}
	for _, id := range ids {
		r.running(id)
	}
	r.kill("api")
	outage := time.NewTimer(8 * time.Second) // longer than every timer
	<-outage.C
	r.startAPI()
	for _, id := range ids {
		got := r.ends(id, task.StatusCompleted)
		require.Equal(t, 1, got.AttemptCount, "a running task was replaced: %s", got.Attempts[0].Reason)
	}
	r.noLeaks()
	r.gapless()
}

// TestSandboxKilledFromOutside kills everything of a running sandbox.
func TestSandboxKilledFromOutside(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	repo := r.repo()
	made := r.submit(repo, script(`{"bash":{"command":"test -f marker || { touch marker; sleep 300; }","timeout_s":400}}`, stepWrite, stepCommit, stepComplete),
		func(in *apiclient.CreateTaskRequest) { in.Title = "a sandbox that is killed" })
	first := r.running(made.ID)
	for _, pid := range processesWith(text(first.SandboxID)) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	second := r.until(made.ID, "has a second attempt that runs", func(t task.Task) bool {
		return t.AttemptCount == 2 && t.Status == task.StatusRunning
	})
	require.Equal(t, task.ClassInfrastructure, second.Attempts[0].FailureClass)
	_, _, err := r.api.Cancel(context.Background(), made.ID, "seen")
	require.NoError(t, err)
	r.ends(made.ID, task.StatusCancelled)
	r.noLeaks()
}
