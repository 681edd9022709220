package temporal_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/temporal"
)

func start(t *testing.T, c *temporal.Client) contract.TaskInput {
	t.Helper()
	in := contract.TaskInput{TaskID: task.NewID(), CommandID: "first", Title: "Make it so"}
	require.NoError(t, c.StartTask(t.Context(), in, false))
	return in
}

func requireCode(t *testing.T, want task.Code, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want, task.CodeOf(err), err.Error())
}

// ended waits for the end of a task and reports whether its run is open, and whether it completed.
func ended(t *testing.T, c *temporal.Client, taskID string) []bool {
	t.Helper()
	_ = c.SDK().GetWorkflow(t.Context(), contract.TaskWorkflowID(taskID), "").Get(t.Context(), nil)
	run, err := c.Describe(t.Context(), contract.TaskWorkflowID(taskID))
	require.NoError(t, err)
	return []bool{run.Open, run.Completed}
}

func TestATaskIsStartedOnceAndSignalled(t *testing.T) {
	t.Parallel()
	c := connect(t, temporal.Config{})
	in := start(t, c)
	first, open, err := c.CurrentRun(t.Context(), in.TaskID)
	require.NoError(t, err)
	require.True(t, open)
	require.NoError(t, c.StartTask(t.Context(), in, false), "already started is success")
	again, _, err := c.CurrentRun(t.Context(), in.TaskID)
	require.NoError(t, err)
	require.Equal(t, first, again)

	require.NoError(t, c.SignalAdmitted(t.Context(), in.TaskID))
	require.NoError(t, c.SignalDigest(t.Context(), in.TaskID, contract.Digest{SandboxID: "s", From: 1, To: 4}))
	require.NoError(t, c.SignalCommand(t.Context(), in.TaskID, contract.Command{ID: "x", Kind: contract.CommandComplete}))
	work(t, c)
	var told []string
	require.NoError(t, c.SDK().GetWorkflow(t.Context(), contract.TaskWorkflowID(in.TaskID), "").Get(t.Context(), &told))
	require.Equal(t, []string{"command first", "attributes false", "digest 1-4", "admitted"}, told)
	run, err := c.Describe(t.Context(), contract.TaskWorkflowID(in.TaskID))
	require.NoError(t, err)
	require.True(t, run.Completed)
	require.False(t, run.Open)
	require.Positive(t, run.HistoryLength)
}

func TestTheTitleIsTheSummary(t *testing.T) {
	t.Parallel()
	c := connect(t, temporal.Config{})
	in := start(t, c)
	answer, err := c.SDK().DescribeWorkflow(t.Context(), contract.TaskWorkflowID(in.TaskID), "")
	require.NoError(t, err)
	summary, err := answer.GetStaticSummary()
	require.NoError(t, err)
	require.Equal(t, "Make it so", summary)
}

func TestSignalsSayWhyTheyDoNotArrive(t *testing.T) {
	t.Parallel()
	c := connect(t, temporal.Config{})
	requireCode(t, task.CodeNotFound, c.SignalAdmitted(t.Context(), task.NewID()))
	_, _, err := c.CurrentRun(t.Context(), task.NewID())
	requireCode(t, task.CodeNotFound, err)
	in := start(t, c)
	require.NoError(t, c.SDK().TerminateWorkflow(t.Context(), contract.TaskWorkflowID(in.TaskID), "", "test"))
	requireCode(t, task.CodeGone, c.SignalAdmitted(t.Context(), in.TaskID))
	requireCode(t, task.CodeGone, c.SignalDigest(t.Context(), in.TaskID, contract.Digest{}))
	requireCode(t, task.CodeGone, c.SignalCommand(t.Context(), in.TaskID, contract.Command{}))
	_, open, err := c.CurrentRun(t.Context(), in.TaskID)
	require.NoError(t, err)
	require.False(t, open)
}

func TestARetryFollowsAFailedRunOnly(t *testing.T) {
	t.Parallel()
	c := connect(t, temporal.Config{})
	work(t, c)
	in := start(t, c)
	in.CommandID = "second"
	requireCode(t, task.CodeConflict, c.StartTask(t.Context(), in, true))
	require.NoError(t, c.SignalCommand(t.Context(), in.TaskID, contract.Command{Kind: contract.CommandFail}))
	require.Equal(t, []bool{false, false}, ended(t, c, in.TaskID))
	require.NoError(t, c.StartTask(t.Context(), in, false), "the first start was carried out long ago")
	require.Equal(t, []bool{false, false}, ended(t, c, in.TaskID))

	require.NoError(t, c.StartTask(t.Context(), in, true))
	require.NoError(t, c.SignalCommand(t.Context(), in.TaskID, contract.Command{Kind: contract.CommandComplete}))
	var told []string
	require.NoError(t, c.SDK().GetWorkflow(t.Context(), contract.TaskWorkflowID(in.TaskID), "").Get(t.Context(), &told))
	require.Equal(t, "command second", told[0])
	requireCode(t, task.CodeGone, c.StartTask(t.Context(), in, true))
	in.Checkpoint = "1.2"
	require.NoError(t, c.StartTask(t.Context(), in, true), "a rewind follows a completed run too")
	requireCode(t, task.CodeConflict, c.StartTask(t.Context(), in, true))
}

// The history of the runs before may be gone, or never have been here.
func TestARetryNeedsNoRunBefore(t *testing.T) {
	t.Parallel()
	c := connect(t, temporal.Config{})
	in := contract.TaskInput{TaskID: task.NewID(), CommandID: "retry"}
	require.NoError(t, c.StartTask(t.Context(), in, true))
	_, open, err := c.CurrentRun(t.Context(), in.TaskID)
	require.NoError(t, err)
	require.True(t, open)
}

func TestWithoutAServerEverythingIsUnavailable(t *testing.T) {
	t.Parallel()
	c := redial(t, temporal.Config{HostPort: "127.0.0.1:1", CallTimeout: 200 * time.Millisecond})
	in := contract.TaskInput{TaskID: task.NewID()}
	requireCode(t, task.CodeUnavailable, c.Check(t.Context()))
	requireCode(t, task.CodeUnavailable, c.StartTask(t.Context(), in, false))
	requireCode(t, task.CodeUnavailable, c.StartTask(t.Context(), in, true))
	requireCode(t, task.CodeUnavailable, c.SignalAdmitted(t.Context(), in.TaskID))
	requireCode(t, task.CodeUnavailable, c.StartCleanup(t.Context(), contract.CleanupInput{SandboxID: "s"}))
	requireCode(t, task.CodeUnavailable, c.EnsureSchedules(t.Context()))
	require.False(t, c.EnsureSearchAttributes(t.Context()))
	_, _, err := c.CurrentRun(t.Context(), in.TaskID)
	requireCode(t, task.CodeUnavailable, err)
}

// A namespace that is not there says nothing about the tasks in it.
func TestAMissingNamespaceIsNoMissingTask(t *testing.T) {
	t.Parallel()
	c := redial(t, temporal.Config{HostPort: needServer(t).FrontendHostPort(), Namespace: "nowhere"})
	_, _, err := c.CurrentRun(t.Context(), task.NewID())
	requireCode(t, task.CodeUnavailable, err)
	requireCode(t, task.CodeUnavailable, c.SignalAdmitted(t.Context(), task.NewID()))
}

func TestACleanupRunsOnceAtATime(t *testing.T) {
	t.Parallel()
	c := connect(t, temporal.Config{})
	require.NoError(t, c.Check(t.Context()))
	in := contract.CleanupInput{SandboxID: task.NewSandboxID(), Reason: "orphan"}
	require.NoError(t, c.StartCleanup(t.Context(), in))
	require.NoError(t, c.StartCleanup(t.Context(), in), "one that runs is success")
	work(t, c)
	require.NoError(t, c.SDK().GetWorkflow(t.Context(), contract.CleanupWorkflowID(in.SandboxID), "").Get(t.Context(), nil))
	first, err := c.Describe(t.Context(), contract.CleanupWorkflowID(in.SandboxID))
	require.NoError(t, err)
	require.True(t, first.Completed)
	require.NoError(t, c.StartCleanup(t.Context(), in))
	next, err := c.Describe(t.Context(), contract.CleanupWorkflowID(in.SandboxID))
	require.NoError(t, err)
	require.NotEqual(t, first.RunID, next.RunID, "what was verified gone may be there again")
	require.NoError(t, c.SDK().GetWorkflow(t.Context(), contract.CleanupWorkflowID(in.SandboxID), "").Get(t.Context(), nil))
}

func describe(t *testing.T, c *temporal.Client) *client.ScheduleDescription {
	t.Helper()
	found, err := c.SDK().ScheduleClient().GetHandle(t.Context(), contract.ScheduleReaper).Describe(t.Context())
	require.NoError(t, err)
	return found
}

func TestTheReapersScheduleIsMadeKeptAndChanged(t *testing.T) {
	t.Parallel()
	cfg := temporal.Config{ReaperPeriod: time.Hour}
	c := connect(t, cfg)
	require.NoError(t, c.EnsureSchedules(t.Context()))
	made := describe(t, c)
	action, ok := made.Schedule.Action.(*client.ScheduleWorkflowAction)
	require.True(t, ok)
	require.Equal(t, time.Hour, made.Schedule.Spec.Intervals[0].Every)
	require.Equal(t, time.Hour, made.Schedule.Policy.CatchupWindow)
	require.Equal(t, enums.SCHEDULE_OVERLAP_POLICY_SKIP, made.Schedule.Policy.Overlap)
	require.Equal(t, 2*time.Hour, action.WorkflowExecutionTimeout)

	require.NoError(t, c.EnsureSchedules(t.Context()))
	require.Equal(t, made.Info.LastUpdateAt, describe(t, c).Info.LastUpdateAt, "the same is left alone")

	other := temporal.New(temporal.Config{CallTimeout: patient, ReaperPeriod: 2 * time.Hour}, c.SDK(), nil)
	require.NoError(t, other.EnsureSchedules(t.Context()))
	require.Equal(t, 2*time.Hour, describe(t, c).Schedule.Spec.Intervals[0].Every)
}

func TestTheReaperRestsAndWakes(t *testing.T) {
	t.Parallel()
	c := connect(t, temporal.Config{ReaperPeriod: time.Hour})
	work(t, c)
	require.NoError(t, c.EnsureSchedules(t.Context()))
	require.NoError(t, c.PauseSchedule(t.Context(), contract.ScheduleReaper, "nothing to do"))
	paused := func() bool { return describe(t, c).Schedule.State.Paused }
	require.Eventually(t, paused, time.Minute, 20*time.Millisecond)
	require.NoError(t, c.WakeReaper(t.Context()))
	require.Eventually(t, func() bool { return !paused() }, time.Minute, 20*time.Millisecond)
	require.Eventually(t, func() bool { return describe(t, c).Info.NumActions > 0 }, time.Minute, 20*time.Millisecond)
	requireCode(t, task.CodeNotFound, c.PauseSchedule(t.Context(), "nothing", ""))
}

func TestSearchAttributesAreRegisteredAndUsed(t *testing.T) {
	t.Parallel()
	c := connect(t, temporal.Config{})
	require.True(t, c.EnsureSearchAttributes(t.Context()))
	require.True(t, c.EnsureSearchAttributes(t.Context()), "they may be there")
	in := start(t, c) // also while the server has not noticed them everywhere
	require.NoError(t, c.SignalCommand(t.Context(), in.TaskID, contract.Command{Kind: contract.CommandComplete}))
	require.Eventually(t, func() bool {
		next := contract.TaskInput{TaskID: task.NewID()}
		require.NoError(t, c.StartTask(t.Context(), next, false))
		answer, err := c.SDK().DescribeWorkflow(t.Context(), contract.TaskWorkflowID(next.TaskID), "")
		require.NoError(t, err)
		return answer.TypedSearchAttributes.Size() == 1
	}, time.Minute, 50*time.Millisecond)
}

func TestANamespaceBelongsToOneInstallation(t *testing.T) {
	t.Parallel()
	c := connect(t, temporal.Config{})
	require.NoError(t, c.ClaimNamespace(t.Context(), "installation-1"))
	require.NoError(t, c.ClaimNamespace(t.Context(), "installation-1"))
	err := c.ClaimNamespace(t.Context(), "installation-2")
	requireCode(t, task.CodeConflict, err)
	require.Contains(t, task.MessageOf(err), "installation-1")
}

func TestRefusedAttributesComeWithTheCommand(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c, err := temporal.Dial(temporal.Config{HostPort: "127.0.0.1:1", Namespace: "mine"}, slog.New(slog.NewTextHandler(&out, nil)))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	require.False(t, c.EnsureSearchAttributes(ctx))
	require.Contains(t, out.String(), "temporal operator search-attribute create --namespace mine --name OmoiTaskStatus --type Keyword")
}
