package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
)

// playPaused pauses the project during an attempt and resumes it.
func playPaused(tr *serverFixture) { playSuspended(tr, contract.CommandPause, task.BlockedPaused) }

// playBudget spends the budget of the task and raises it.
func playBudget(tr *serverFixture) { playSuspended(tr, contract.CommandBudget, task.BlockedBudget) }

// playTaken suspends a task during an attempt, and continues with the checkpoint that a user gives.
func playTaken(tr *serverFixture) {
	tr.spawned = func(n int, box string) {
		tr.after(time.Second, func() { tr.events(box, 1, started()) })
		if n == 1 {
			tr.after(4*time.Second, func() { tr.command(contract.CommandSuspend, "s1", "taken") })
			tr.after(20*time.Second, func() { tr.rewind("g1", "1.4") })
			return
		}
		tr.after(4*time.Second, func() { tr.events(box, 2, completed(true)) })
	}
	require.NoError(tr.t, tr.play())
	require.Equal(tr.t, []string{"first ", "rewound 1.4"}, tr.rewinds())
	require.Equal(tr.t, []string{"suspended", "completed"}, tr.outcomes())
	summaries := tr.summaries()
	require.Contains(tr.t, summaries, `"suspend"`)
	require.Contains(tr.t, summaries, `"rewound to 1.4"`)
}

func TestSuspend_ByAUserEndsAWaitForARateLimit(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	began := s.now()
	s.spawned = func(n int, box string) {
		if n == 1 {
			limit := contract.Milestone{Type: event.AgentError, Class: task.ClassProviderLimit, ResetAt: began.Add(time.Hour)}
			s.after(time.Second, func() { s.events(box, 1, started(), limit) })
			s.after(30*time.Minute, func() { s.command(contract.CommandSuspend, "s1", "") })
			s.after(2*time.Hour, func() { s.command(contract.CommandRetry, "r1", "") })
			return
		}
		require.GreaterOrEqual(s.t, s.now().Sub(began), 2*time.Hour, "the reset of the limit resumes nothing")
		s.after(time.Second, func() { s.events(box, 1, started(), completed(true)) })
	}
	_, err := s.run()
	require.NoError(t, err)
	require.Equal(t, task.ReceiptCarriedOut, s.receipts()["s1"])
	require.Equal(t, []string{"suspended", "completed"}, s.outcomes())
}

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
