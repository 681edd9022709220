package workflows_test

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// playPaused pauses the project during an attempt and resumes it.
func playPaused(tr *serverFixture) { playSuspended(tr, contract.CommandPause, task.BlockedPaused) }

// playBudget spends the budget of the task and raises it.
func playBudget(tr *serverFixture) { playSuspended(tr, contract.CommandBudget, task.BlockedBudget) }

func playSuspended(tr *serverFixture, kind string, why task.BlockedReason) {
	tr.spawned = func(n int, box string) {
		tr.after(time.Second, func() { tr.events(box, 1, started()) })
		if n == 1 {
			tr.after(4*time.Second, func() { tr.command(kind, "p1", "enough for now") })
			tr.after(20*time.Second, func() { tr.command(contract.CommandRetry, "r1", "go on") })
			return
		}
		tr.after(4*time.Second, func() { tr.events(box, 2, completed(true)) })
	}
	require.NoError(tr.t, tr.play())
	require.Len(tr.t, tr.begun, 2)
	require.Equal(tr.t, "resumed", tr.begun[1].Kind)
	require.Len(tr.t, tr.cleaned, 2)
	require.Equal(tr.t, task.ReceiptCarriedOut, tr.receipts()["p1"])
	require.Equal(tr.t, task.ReceiptCarriedOut, tr.receipts()["r1"])
	suspended := 0
	for _, p := range tr.projects {
		if p.Blocked == why && p.Ended != nil {
			suspended++
			require.True(tr.t, p.ReleaseSlot)
			require.Equal(tr.t, "suspended", p.Ended.Outcome)
			require.Zero(tr.t, p.Retries)
		}
	}
	require.Equal(tr.t, 1, suspended)
}
