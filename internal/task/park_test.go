package task_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/ticket"
)

func TestSuspend_SavesAndWaits(t *testing.T) {
	t.Parallel()
	at := task.State{Status: task.StatusRunning, SandboxID: "b", Retries: 1, Attempts: 2}
	for _, c := range []struct {
		kind    task.FactKind
		blocked task.BlockedReason
		class   task.FailureClass
	}{
		{task.FactPause, task.BlockedPaused, task.ClassNone},
		{task.FactBudget, task.BlockedBudget, task.ClassBudget},
		{task.FactSuspend, task.BlockedSuspended, task.ClassNone},
	} {
		parked, eff := task.Decide(at, task.Fact{Kind: c.kind})
		require.Equal(t, task.State{Status: task.StatusPending, Blocked: c.blocked, Retries: 1, Attempts: 2}, parked)
		require.Equal(t, task.ActionPark, eff.Action)
		require.Equal(t, c.class, eff.Class)

		same, eff := task.Decide(parked, task.Fact{Kind: c.kind})
		require.Equal(t, parked, same, "a task is suspended once")
		require.Equal(t, task.ReceiptRefused, eff.Receipt)

		again, eff := task.Decide(parked, task.Fact{Kind: task.FactRetry})
		require.Equal(t, task.BlockedNone, again.Blocked)
		require.Equal(t, 1, again.Retries, "going on is no retry")
		require.Equal(t, task.ActionBegin, eff.Action)

		handing := at
		handing.Stage, handing.Rounds = task.StageSubmit, 3
		parked, _ = task.Decide(handing, task.Fact{Kind: c.kind})
		require.Equal(t, task.StageWork, parked.Stage, "its sandbox is gone before the work was on its branch")

		publishing := at
		publishing.Stage = task.StagePublish
		_, eff = task.Decide(publishing, task.Fact{Kind: c.kind})
		require.Equal(t, task.ReceiptTooLate, eff.Receipt)
	}
}

func TestSuspend_AUserSuspendsASuspendedTask(t *testing.T) {
	t.Parallel()
	limited := task.State{Status: task.StatusPending, Blocked: task.BlockedProviderLimit, Attempts: 1}
	parked, eff := task.Decide(limited, task.Fact{Kind: task.FactSuspend})
	require.Equal(t, task.State{Status: task.StatusPending, Blocked: task.BlockedSuspended, Attempts: 1}, parked)
	require.Equal(t, task.ReceiptCarriedOut, eff.Receipt)
	same, eff := task.Decide(parked, task.Fact{Kind: task.FactPause})
	require.Equal(t, parked, same, "it waits for the user")
	require.Equal(t, task.ReceiptRefused, eff.Receipt)

	limited.Stage = task.StagePublish
	same, eff = task.Decide(limited, task.Fact{Kind: task.FactSuspend})
	require.Equal(t, limited, same)
	require.Equal(t, task.ReceiptTooLate, eff.Receipt)
}

func TestPhases_LegalMoves(t *testing.T) {
	t.Parallel()
	for pair, want := range map[[2]string]bool{
		{"PHASE_BACKLOG", "PHASE_REQUIREMENTS"}: true, {"PHASE_REQUIREMENTS", "PHASE_DESIGN"}: true, {"PHASE_DESIGN", "PHASE_IMPLEMENTATION"}: true,
		{"PHASE_IMPLEMENTATION", "PHASE_TESTING"}: true, {"PHASE_TESTING", "PHASE_DEPLOYMENT"}: true, {"PHASE_DEPLOYMENT", "PHASE_DONE"}: true,
		{"PHASE_TESTING", "PHASE_IMPLEMENTATION"}: true, {"PHASE_DESIGN", "PHASE_BLOCKED"}: true, {"PHASE_BLOCKED", "PHASE_TESTING"}: true,
		{"PHASE_DESIGN", "PHASE_DESIGN"}: true, {"PHASE_BACKLOG", "PHASE_DONE"}: false, {"PHASE_DONE", "PHASE_BLOCKED"}: false,
		{"PHASE_DONE", "PHASE_BACKLOG"}: false, {"PHASE_IMPLEMENTATION", "PHASE_DESIGN"}: false, {"PHASE_BLOCKED", "PHASE_DONE"}: false,
		{"PHASE_BLOCKED", "PHASE_DEPLOYMENT"}: false,
	} {
		require.Equal(t, want, ticket.CanMove(pair[0], pair[1]), "%v", pair)
	}
}
