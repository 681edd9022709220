package temporal_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	wire "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/temporal"
)

// guardianOf asks until a busy server has answered.
func guardianOf(t *testing.T, c *temporal.Client) (found wire.Schedule) {
	t.Helper()
	return scheduleOf(t, c, contract.ScheduleGuardian)
}

func scheduleOf(t *testing.T, c *temporal.Client, id string) (found wire.Schedule) {
	t.Helper()
	require.Eventually(t, func() (answered bool) {
		var err error
		found, err = c.Schedule(t.Context(), id)
		return err == nil
	}, time.Minute, 20*time.Millisecond)
	return found
}

// awaitPause waits until the server's scheduler has heard of a change.
func awaitPause(t *testing.T, c *temporal.Client, paused bool, note string) {
	t.Helper()
	awaitPauseOf(t, c, contract.ScheduleGuardian, paused, note)
}

func awaitPauseOf(t *testing.T, c *temporal.Client, id string, paused bool, note string) {
	t.Helper()
	require.Eventually(t, func() bool {
		found := scheduleOf(t, c, id)
		return found.Paused == paused && found.Note == note
	}, time.Minute, 20*time.Millisecond)
}

// wake asks until a busy server has answered.
func wake(t *testing.T, c *temporal.Client) {
	t.Helper()
	require.Eventually(t, func() bool { return c.WakeReaper(t.Context()) == nil }, time.Minute, 20*time.Millisecond)
}

// After an hour in which nothing ran there is one cycle to be made up for, not sixty.
func TestTheGuardiansScheduleMakesUpForOnePeriod(t *testing.T) {
	t.Parallel()
	c := connect(t, temporal.Config{ReaperPeriod: time.Hour, GuardianPeriod: time.Minute})
	require.False(t, guardianOf(t, c).Exists)
	require.NoError(t, c.EnsureSchedules(t.Context()))
	made, err := c.SDK().ScheduleClient().GetHandle(t.Context(), contract.ScheduleGuardian).Describe(t.Context())
	require.NoError(t, err)
	require.Equal(t, time.Minute, made.Schedule.Policy.CatchupWindow)
	require.Equal(t, enums.SCHEDULE_OVERLAP_POLICY_SKIP, made.Schedule.Policy.Overlap)
	action, ok := made.Schedule.Action.(*client.ScheduleWorkflowAction)
	require.True(t, ok)
	require.Equal(t, 2*time.Minute, action.WorkflowExecutionTimeout)
	require.Equal(t, contract.GuardianWorkflow, action.Workflow)
	found := guardianOf(t, c)
	require.True(t, found.Exists)
	require.InDelta(t, 60, found.Interval, 0)
	require.NotNil(t, found.NextRun)
	other, err := c.SDK().ScheduleClient().GetHandle(t.Context(), contract.ScheduleConductor).Describe(t.Context())
	require.NoError(t, err)
	action, ok = other.Schedule.Action.(*client.ScheduleWorkflowAction)
	require.True(t, ok)
	require.Equal(t, contract.ConductorWorkflow, action.Workflow)
	require.Equal(t, 10*time.Minute, action.WorkflowExecutionTimeout, "two periods of the conductor's own")
	require.NoError(t, c.EnsureSchedules(t.Context()), "made again they are the same")
}

func TestARestEndsAndAPersonsPauseStays(t *testing.T) {
	t.Parallel()
	c := connect(t, temporal.Config{ReaperPeriod: time.Hour, GuardianPeriod: time.Hour})
	require.NoError(t, c.EnsureSchedules(t.Context()))
	for _, id := range []string{contract.ScheduleGuardian, contract.ScheduleConductor} {
		require.NoError(t, c.PauseSchedule(t.Context(), id, contract.NoteIdle))
		awaitPauseOf(t, c, id, true, contract.NoteIdle)
	}
	wake(t, c)
	awaitPause(t, c, false, "there is somebody to watch")
	awaitPauseOf(t, c, contract.ScheduleConductor, false, "there is somebody to watch")

	require.NoError(t, c.HoldSchedule(t.Context(), contract.ScheduleGuardian, "paused by anna"))
	awaitPause(t, c, true, "paused by anna")
	require.NoError(t, c.PauseSchedule(t.Context(), contract.ScheduleGuardian, contract.NoteIdle), "a second pause adds nothing")
	wake(t, c)
	require.NoError(t, c.EnsureSchedules(t.Context()), "neither a start of a task nor one of a worker ends it")
	require.Equal(t, "paused by anna", guardianOf(t, c).Note)
	require.True(t, guardianOf(t, c).Paused)
	require.NoError(t, c.ResumeSchedule(t.Context(), contract.ScheduleGuardian, "resumed by anna"))
	awaitPause(t, c, false, "resumed by anna")
}

func TestAGuardianThatIsSwitchedOffIsSeenToBe(t *testing.T) {
	t.Parallel()
	off := temporal.Config{CallTimeout: patient, ReaperPeriod: time.Hour, GuardianPeriod: time.Hour, GuardianOff: true}
	c := connect(t, off)
	require.NoError(t, c.EnsureSchedules(t.Context()))
	awaitPause(t, c, true, "switched off by monitoring.enabled")
	awaitPauseOf(t, c, contract.ScheduleConductor, true, "switched off by monitoring.enabled")
	on := temporal.New(temporal.Config{CallTimeout: patient, ReaperPeriod: time.Hour, GuardianPeriod: time.Hour}, c.SDK(), nil)
	require.NoError(t, on.EnsureSchedules(t.Context()))
	awaitPause(t, c, false, "")
}

func TestADeletedScheduleIsMadeAgain(t *testing.T) {
	t.Parallel()
	c := connect(t, temporal.Config{CallTimeout: patient, ReaperPeriod: time.Hour, GuardianPeriod: time.Hour})
	require.NoError(t, c.EnsureSchedules(t.Context()))
	require.NoError(t, c.PauseSchedule(t.Context(), contract.ScheduleConductor, "paused by anna"))
	require.NoError(t, c.PauseSchedule(t.Context(), contract.ScheduleReaper, contract.NoteIdle))
	require.NoError(t, c.RestoreSchedules(t.Context()))
	awaitPauseOf(t, c, contract.ScheduleReaper, true, contract.NoteIdle)
	require.NoError(t, c.SDK().ScheduleClient().GetHandle(t.Context(), contract.ScheduleGuardian).Delete(t.Context()))
	require.NoError(t, c.RestoreSchedules(t.Context()))
	awaitPause(t, c, false, "")
	awaitPauseOf(t, c, contract.ScheduleConductor, true, "paused by anna")
	awaitPauseOf(t, c, contract.ScheduleReaper, false, "there is something to watch") // who lets the others rest again
}

// Whoever asks for a run finds it by its name, among those that the schedule began by itself.
func TestARunThatIsAskedForIsNamed(t *testing.T) {
	t.Parallel()
	c := connect(t, temporal.Config{CallTimeout: time.Minute, ReaperPeriod: time.Hour, GuardianPeriod: time.Hour})
	require.Empty(t, scheduleOf(t, c, contract.ScheduleConductor).Recent)
	require.NoError(t, c.EnsureSchedules(t.Context()))
	require.NoError(t, c.TriggerSchedule(t.Context(), contract.ScheduleConductor))
	var runs []wire.ScheduleRun
	require.Eventually(t, func() bool {
		runs = scheduleOf(t, c, contract.ScheduleConductor).Recent
		return len(runs) > 0
	}, time.Minute, 20*time.Millisecond)
	run := c.SDK().GetWorkflow(t.Context(), runs[0].WorkflowID, "")
	require.Equal(t, runs[0].RunID, run.GetRunID())
	require.False(t, runs[0].StartedAt.IsZero())
}
