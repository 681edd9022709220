package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// lateCreates returns a ledger row of a provider whose lost create requests can produce a sandbox up to by later.
func lateCreates(by time.Duration) func(int) contract.LoadedSandbox {
	return func(int) contract.LoadedSandbox {
		return contract.LoadedSandbox{Provider: "daytona", Verify: true, LongestCreate: by, SalvageWindow: 5 * time.Minute}
	}
}

// failsAttempts lets the agents of the first attempts report errors, and completes the next attempt.
func (s *fixture) failsAttempts(attempts int) {
	s.spawned = func(n int, box string) {
		end := completed(true)
		if n <= attempts {
			end = agentError(task.ClassInfrastructure)
		}
		s.after(time.Second, func() { s.events(box, 1, started(), end) })
	}
}

// before reports whether the first call of one name came before the nth of another.
func (s *fixture) before(first, second string, nth int) bool {
	for _, name := range s.calls {
		switch name {
		case first:
			return true
		case second:
			if nth--; nth == 0 {
				return false
			}
		}
	}
	return false
}

// The next attempt starts from the saved work after the first absence check, and does not wait for the second one.
func TestNextAttempt_WaitsForFirstAbsenceCheck(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.env.SetDetachedChildWait(false)
	s.loaded.Settings.CleanupWait = time.Hour
	s.ledger = lateCreates(5 * time.Minute)
	s.failsAttempts(2)
	var begun []time.Time
	spawned := s.spawned
	s.spawned = func(n int, box string) {
		begun = append(begun, s.now())
		require.Equal(t, n-1, s.count(contract.Salvage), "the work is saved")
		require.Equal(t, n-1, s.count("settle gone"), "the agent before it is gone")
		spawned(n, box)
	}
	_, err := s.run()
	require.NoError(t, err)
	require.Len(t, begun, 3)
	require.Less(t, begun[2].Sub(begun[0]), 2*time.Minute)
	require.Less(t, s.count("settle verified"), 3)
}

// While the sandbox exists, its agent might act, so that no other attempt may start.
func TestNextAttempt_WaitsUntilTheSandboxIsDeleted(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.loaded.Settings.CleanupWait = time.Hour
	s.ledger = lateCreates(5 * time.Minute)
	s.lingers = 6
	s.failsAttempts(1)
	_, err := s.run()
	require.NoError(t, err)
	require.Len(t, s.begun, 2)
	require.True(t, s.before("settle gone", contract.BeginAttempt, 2))
	require.Greater(t, s.count(contract.VerifyDeleted), 6)
}

// A task closes without waiting for the cleanup of its sandbox, so that a user can retry it at once; the store holds back the next
// attempt.
func TestTaskEnd_DoesNotWaitForCleanup(t *testing.T) {
	t.Parallel()
	for name, dies := range map[string]int{"completed": 0, "failed": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			s.env.SetDetachedChildWait(false)
			s.loaded.State.MaxRetries = 0
			s.ledger = lateCreates(5 * time.Minute)
			s.lingers = 1 << 20
			s.failsAttempts(dies)
			_, err := s.run()
			require.Equal(t, dies > 0, err != nil)
			require.Equal(t, task.Status(name), s.last().Status)
			require.Zero(t, s.count("settle verified"))
		})
	}
}

// The reaper has already started the cleanup.
func playCleanedByAnother(tr *serverFixture) {
	tr.ledger = func(int) contract.LoadedSandbox {
		box := lateCreates(time.Second)(0)
		box.Verified = tr.count("settle verified") > 0
		return box
	}
	tr.spawned = func(_ int, box string) {
		_, err := tr.c.ExecuteWorkflow(tr.t.Context(), client.StartWorkflowOptions{
			ID: contract.CleanupWorkflowID(box), TaskQueue: contract.QueueTasks,
		}, contract.CleanupWorkflow, contract.CleanupInput{SandboxID: box})
		require.NoError(tr.t, err)
		tr.after(time.Second, func() { tr.events(box, 1, started(), completed(true)) })
	}
	require.NoError(tr.t, tr.play())
}
