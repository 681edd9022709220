package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// rewind signals a retry from a checkpoint.
func (s *fixture) rewind(id, checkpoint string) {
	s.mu.Lock()
	s.checkpoints[id] = checkpoint
	s.mu.Unlock()
	s.command(contract.CommandRetry, id, "wrong turn")
}

// rewinds lists kind and checkpoint of each attempt.
func (s *fixture) rewinds() (begun []string) {
	for _, in := range s.begun {
		begun = append(begun, in.Kind+" "+in.Checkpoint)
	}
	return begun
}

func TestRewind_ReplacesTheRunningAttempt(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.spawned = func(n int, box string) {
		s.after(time.Second, func() { s.events(box, 1, started()) })
		switch n {
		case 1:
			s.after(4*time.Second, func() { s.rewind("r1", "1.3") })
		case 2:
			s.after(4*time.Second, func() { s.events(box, 2, agentError(task.ClassInfrastructure)) })
		default:
			s.after(4*time.Second, func() { s.events(box, 2, completed(true)) })
		}
	}
	_, err := s.run()
	require.NoError(t, err)
	require.Equal(t, []string{"first ", "rewound 1.3", "retry "}, s.rewinds())
	require.Equal(t, []string{"replaced", "failed", "completed"}, s.outcomes())
	require.Equal(t, 1, s.last().Retries, "the rewind is no failure")
	require.Equal(t, task.ReceiptCarriedOut, s.receipts()["r1"])
	require.Len(t, s.cleaned, 3)
	require.Equal(t, []string{"", "1.3"}, s.branchedAt, "a rewind may need another branch")
}

func TestRewind_OfASuspendedTask(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.spawned = func(n int, box string) {
		s.after(time.Second, func() { s.events(box, 1, started()) })
		if n == 1 {
			s.after(4*time.Second, func() { s.command(contract.CommandPause, "p1", "enough for now") })
			s.after(time.Hour, func() { s.rewind("r1", "1.3") })
			return
		}
		s.after(4*time.Second, func() { s.events(box, 2, completed(true)) })
	}
	_, err := s.run()
	require.NoError(t, err)
	require.Equal(t, []string{"first ", "rewound 1.3"}, s.rewinds())
	require.Equal(t, task.ReceiptCarriedOut, s.receipts()["r1"])
	require.Equal(t, []string{"", "1.3"}, s.branchedAt)
}

func TestRewind_OfAnEndedTask(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.loaded.Checkpoint, s.loaded.State.Attempts = "2.14", 2
	s.failsAttempts(3)
	_, err := s.run()
	require.NoError(t, err)
	require.Equal(t, []string{"rewound 2.14", "retry "}, s.rewinds())
	require.Equal(t, []string{"2.14"}, s.branchedAt)
}

func TestRewind_DuringAValidationLetsAnAgentWork(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	validated(s, func(round int, box string) {
		if round == 1 {
			s.rewind("r1", "1.3")
			return
		}
		s.verdict(box, "ok")
	})
	_, err := s.run()
	require.NoError(t, err)
	require.Equal(t, []string{"first ", "validation ", "rewound 1.3", "validation "}, s.rewinds())
	require.Equal(t, []string{"completed", "replaced", "completed", "completed"}, s.outcomes())
}

func TestRewind_IsTooLateWhilePublishing(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.succeeds()
	s.fail[contract.OpenPullRequest] = []error{limit(s.now().Add(time.Hour))}
	s.after(30*time.Minute, func() { s.rewind("r1", "1.3") })
	_, err := s.run()
	require.NoError(t, err)
	require.Len(t, s.begun, 1)
	require.Equal(t, task.ReceiptTooLate, s.receipts()["r1"])
}

// playRewound rewinds a running task, and shows the checkpoint in the summary of the attempt.
func playRewound(tr *serverFixture) {
	tr.spawned = func(n int, box string) {
		tr.after(time.Second, func() { tr.events(box, 1, started()) })
		if n == 1 {
			tr.after(4*time.Second, func() { tr.rewind("r1", "1.3") })
			return
		}
		tr.after(4*time.Second, func() { tr.events(box, 2, completed(true)) })
	}
	require.NoError(tr.t, tr.play())
	require.Equal(tr.t, []string{"first ", "rewound 1.3"}, tr.rewinds())
	require.Contains(tr.t, tr.summaries(), `"rewound to 1.3"`)
}

// summaries returns the summaries that the Web UI shows.
func (tr *serverFixture) summaries() (all []string) {
	for _, e := range tr.history(tr.workflowID(), tr.firstRun).Events {
		all = append(all, string(e.GetUserMetadata().GetSummary().GetData()))
	}
	return all
}

// playRewindBranch is playRewound since a rewind asks for the branch again.
func playRewindBranch(tr *serverFixture) {
	playRewound(tr)
	require.Equal(tr.t, []string{"", "1.3"}, tr.branchedAt)
}

// playForked runs a fork: only its first attempt begins with a checkpoint of another task.
func playForked(tr *serverFixture) {
	tr.loaded.ForkedFrom = "APP-7 2.14"
	tr.loaded.Settings.RetryBase = 100 * time.Millisecond
	tr.spawned = func(n int, box string) {
		end := completed(true)
		if n == 1 {
			end = agentError(task.ClassInfrastructure)
		}
		tr.after(time.Second, func() { tr.events(box, 1, started(), end) })
	}
	require.NoError(tr.t, tr.play())
	require.Equal(tr.t, []string{"forked ", "retry "}, tr.rewinds())
	require.Contains(tr.t, tr.summaries(), `"forked from APP-7 2.14"`)
}
