package activities_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestEnsureSandbox_AdoptsItsOwnAfterALostAnswer(t *testing.T) {
	t.Parallel()
	for _, lost := range []string{"ensure", "creating", "running"} {
		b := newBench(t)
		if lost == "ensure" {
			b.provider.loseAnswerOf(lost)
		} else {
			b.store.loseAnswerOf(lost)
		}
		_, err := do[contract.SpawnedSandbox](b, b.activities().EnsureSandbox, b.ref())
		app, _ := refused(t, err)
		require.False(t, app.NonRetryable())
		require.Equal(t, string(task.ClassInfrastructure), app.Type())
		out, err := do[contract.SpawnedSandbox](b, b.activities().EnsureSandbox, b.ref())
		require.NoError(t, err)
		require.Equal(t, lost != "creating", out.Adopted, lost)
		require.Equal(t, "p-"+boxID, out.ProviderID)
		require.Equal(t, []string{"fake"}, out.Isolation)
		require.Len(t, b.provider.boxes, 1)
		require.Equal(t, task.SandboxRunning, b.store.rows[boxID].State)
		require.Equal(t, sandbox.Labels{Installation: "inst", TaskID: taskID, Attempt: 1, SandboxID: boxID}, b.provider.boxes[boxID].labels)
	}
}

// A create whose answer was lost is not repeated in another place, where it would make a second sandbox.
func TestEnsureSandbox_StaysInItsPlace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.provider.at = "here/"
	b.provider.loseAnswerOf("ensure")
	refused(t, act(b, b.activities().EnsureSandbox, b.ref()))
	require.Equal(t, "here/", b.store.rows[boxID].ProviderID)
	first := b.provider.boxes
	b.provider.at, b.provider.boxes = "there/", map[string]*box{}
	app, _ := refused(t, act(b, b.activities().EnsureSandbox, b.ref()))
	require.False(t, app.NonRetryable())
	require.Empty(t, b.provider.boxes)
	b.provider.at, b.provider.boxes = "here/", first
	require.NoError(t, act(b, b.activities().EnsureSandbox, b.ref()))
	require.Len(t, b.provider.boxes, 1)
}

func TestEnsureSandbox_DoesNotAdoptAForeignSandbox(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.provider.boxes[boxID] = &box{labels: sandbox.Labels{Installation: "another", SandboxID: boxID}}
	_, err := do[contract.SpawnedSandbox](b, b.activities().EnsureSandbox, b.ref())
	app, details := refused(t, err)
	require.True(t, app.NonRetryable())
	require.Equal(t, string(task.ClassInfrastructure), app.Type())
	require.Equal(t, task.CodeConflict, details.Code)
	require.Contains(t, app.Message(), "name_taken")
}

func TestEnsureSandbox_CreatesNothingForAnEndedAttempt(t *testing.T) {
	t.Parallel()
	for _, state := range []task.SandboxState{task.SandboxDeleting, task.SandboxGone, task.SandboxLost} {
		b := newBench(t)
		row := b.store.rows[boxID]
		row.State = state
		b.store.rows[boxID] = row
		_, err := do[contract.SpawnedSandbox](b, b.activities().EnsureSandbox, b.ref())
		app, _ := refused(t, err)
		require.True(t, app.NonRetryable())
		require.Empty(t, b.provider.boxes)
	}
}

func TestEnsureSandbox_LeavesOtherHostsAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cfg.HostID = "h2"
	_, err := do[contract.SpawnedSandbox](b, b.activities().EnsureSandbox, b.ref())
	app, details := refused(t, err)
	require.False(t, app.NonRetryable())
	require.Equal(t, task.CodeUnavailable, details.Code)
	require.Empty(t, b.provider.boxes)
}

func TestEnsureSandbox_LimitsOutOfRangeAreInvalidInput(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.provider.down = task.Invalid("memory", "Memory is at most 8 GiB.")
	_, err := do[contract.SpawnedSandbox](b, b.activities().EnsureSandbox, b.ref())
	app, _ := refused(t, err)
	require.Equal(t, string(task.ClassInvalidInput), app.Type())
}
