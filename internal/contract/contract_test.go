package contract_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// TestTaskState_OldVersionsDecode reads every version of the continue-as-new state that was ever written.
// A file is added with each version and never changed.
func TestTaskState_OldVersionsDecode(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/state-v*.json")
	require.NoError(t, err)
	require.Len(t, files, contract.TaskStateVersion)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		var s contract.TaskState
		require.NoError(t, json.Unmarshal(raw, &s))
		require.Equal(t, task.StatusRunning, s.Judge.Status)
		require.Equal(t, "aaaaaaaaaaaaaaaaaaaaaaaaaa", s.Attempt.SandboxID)
		require.EqualValues(t, 42, s.Watch.Seen)
		require.NotZero(t, s.Task.Settings.HeartbeatTimeout)
		require.NotZero(t, s.Watch.LastHeartbeat)

		again, err := json.Marshal(s)
		require.NoError(t, err)
		require.JSONEq(t, string(raw), string(again), "a field was renamed or dropped")
	}
}

// TestTaskState_OfAValidationDecodes reads a state that was written during a validation, and an older state without those
// fields, which means no validation.
func TestTaskState_OfAValidationDecodes(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/validating.json")
	require.NoError(t, err)
	var s contract.TaskState
	require.NoError(t, json.Unmarshal(raw, &s))
	require.Equal(t, []any{3, 1, task.StageValidate}, []any{s.Judge.Rounds, s.Judge.Round, s.Judge.Stage})
	require.True(t, s.Attempt.Validates)
	require.NotZero(t, s.Watch.Finished)
	again, err := json.Marshal(s)
	require.NoError(t, err)
	require.JSONEq(t, string(raw), string(again), "a field was renamed or dropped")

	old, err := os.ReadFile("testdata/state-v1.json")
	require.NoError(t, err)
	var before contract.TaskState
	require.NoError(t, json.Unmarshal(old, &before))
	require.Zero(t, before.Judge.Rounds)
	require.Equal(t, task.StageWork, before.Judge.Stage)
	require.False(t, before.Attempt.Validates)
}

func TestWorkflowIDs(t *testing.T) {
	t.Parallel()
	id, ok := contract.TaskIDOf(contract.TaskWorkflowID("x"))
	require.True(t, ok)
	require.Equal(t, "x", id)
	_, ok = contract.TaskIDOf(contract.CleanupWorkflowID("x"))
	require.False(t, ok)
	require.Equal(t, []string{"task-x", "cleanup-x", "pull-relay-x"},
		[]string{contract.TaskWorkflowID("x"), contract.CleanupWorkflowID("x"), contract.PullRelayWorkflowID("x")})
}

// TestTaskQueues fixes the names of task queues, which running workflows have in their histories.
func TestTaskQueues(t *testing.T) {
	t.Parallel()
	require.Equal(t, "omoi-tasks", contract.QueueTasks)
	require.Equal(t, "omoi-sandboxes", contract.QueueSandboxes)
	require.Equal(t, "omoi-host-h", contract.QueueHost("h"))
	require.Equal(t, "omoi-host-h-pull-relays", contract.QueuePullRelays(contract.QueueHost("h")))
}

func TestQueueOf(t *testing.T) {
	t.Parallel()
	for provider, queue := range map[string]string{
		task.ProviderLocal: "omoi-host-h", task.ProviderDaytona: contract.QueueSandboxes, task.ProviderExternal: contract.QueueTasks,
	} {
		require.Equal(t, queue, contract.QueueOf(task.ProviderOf(provider).Capabilities, "h"), provider)
	}
	require.Equal(t, contract.QueueSandboxes, contract.QueueOf(task.ProviderOf(task.ProviderLocal).Capabilities, ""), "no host is known")
}

// TestPolicies checks the rules of the table: required activities are retried without a bound, and each try has a timeout.
func TestPolicies(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		contract.LoadTask, contract.SaveTaskState, contract.BeginAttempt, contract.LoadCommand, contract.LoadEvents,
		contract.DeleteSandbox, contract.VerifyDeleted, contract.RecordSandboxState, contract.LoadSandbox,
	} {
		p := contract.PolicyOf(name)
		require.Zero(t, p.Attempts, name)
		require.Zero(t, p.ScheduleToClose, name)
		require.NotZero(t, p.StartToClose, name)
	}
	for _, name := range []string{contract.EnsureBranch, contract.PublishBranch, contract.OpenPullRequest, contract.CollectWork, contract.CheckAgent, contract.StopAgent} {
		require.NotZero(t, contract.PolicyOf(name).ScheduleToClose, name)
	}
}
