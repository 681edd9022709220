package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestUnknownNeverEndsAnAttempt(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.spawned = func(_ int, box string) {
		s.after(time.Second, func() { s.events(box, 1, started()) })
		s.after(3*time.Hour, func() { s.events(box, 2, completed(true)) })
	}
	_, err := s.run()
	require.NoError(t, err)
	require.Len(t, s.begun, 1)
	require.Greater(t, s.count(contract.CheckAgent), 5)
	require.Less(t, s.count(contract.CheckAgent), 60, "asked again with backoff")
}

func TestUnknown_ForTheMaximumDurationSuspends(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.observe = func(contract.CheckAgentInput) contract.Observation {
		return contract.Observation{Seen: contract.ObservedUnknown, Reason: "nobody answers"}
	}
	s.spawned = func(n int, box string) {
		s.after(time.Second, func() { s.events(box, 1, started()) })
		if n == 2 {
			s.after(2*time.Second, func() { s.events(box, 2, completed(true)) })
		}
	}
	s.after(6*time.Hour, func() {
		require.Equal(t, task.BlockedUnknownTooLong, s.last().Blocked)
		require.True(t, s.last().ReleaseSlot)
		require.Equal(t, "the attempt exceeded its maximum duration; the last check said: nobody answers", s.last().Ended.Reason)
		require.Equal(t, []string{"box1"}, s.cleaned)
		s.command(contract.CommandRetry, "again", "")
	})
	_, err := s.run()
	require.NoError(t, err)
	require.Equal(t, task.ReceiptCarriedOut, s.receipts()["again"])
}

// The maximum duration of an attempt is extended by the time in which its sandbox was frozen.
func TestFrozenTime_DoesNotCountForAnAttempt(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.ledger = func(int) contract.LoadedSandbox {
		return contract.LoadedSandbox{Provider: task.ProviderLocal, Verify: true, SalvageWindow: 5 * time.Minute, Frozen: 9 * time.Hour}
	}
	s.spawned = func(_ int, box string) {
		s.after(time.Second, func() { s.events(box, 1, started()) })
		s.after(12*time.Hour, func() { s.events(box, 2, completed(true)) })
	}
	_, err := s.run()
	require.NoError(t, err)
	require.Len(t, s.begun, 1)
}

func TestObservations(t *testing.T) {
	t.Parallel()
	for seen, class := range map[string]task.FailureClass{
		contract.ObservedStuck: task.ClassAgentError, contract.ObservedSilent: task.ClassInfrastructure,
		contract.ObservedExited: task.ClassResources, contract.ObservedGone: task.ClassInfrastructure,
		contract.ObservedIdle: task.ClassAgentError,
	} {
		t.Run(seen, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			s.observe = func(in contract.CheckAgentInput) contract.Observation {
				if in.Attempt == 1 {
					return contract.Observation{Seen: seen, Class: class, Reason: "as the test says"}
				}
				return contract.Observation{Seen: contract.ObservedUnknown}
			}
			s.spawned = func(n int, box string) {
				s.after(time.Second, func() { s.events(box, 1, started()) })
				if n == 2 {
					s.after(2*time.Second, func() { s.events(box, 2, completed(true)) })
				}
			}
			_, err := s.run()
			require.NoError(t, err)
			require.Len(t, s.begun, 2)
			for _, p := range s.projects {
				if p.Ended != nil && p.Ended.Number == 1 {
					require.Equal(t, class, p.Ended.Class)
					require.Equal(t, "as the test says", p.Ended.Reason)
					require.Equal(t, map[string]string{contract.ObservedStuck: "stuck_running", contract.ObservedIdle: "idle_timeout"}[seen], p.Ended.Idle)
				}
			}
		})
	}
}

func TestStartupTimeout_CountsFromTheAssignment(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.loaded.HoldsSlot = false
	var asked []contract.CheckAgentInput
	s.observe = func(in contract.CheckAgentInput) contract.Observation {
		asked = append(asked, in)
		return contract.Observation{Seen: contract.ObservedSilent, Class: task.ClassInfrastructure}
	}
	var assigned time.Time
	s.spawned = func(n int, box string) {
		if n == 1 {
			assigned = s.now()
			return
		}
		require.WithinDuration(t, assigned.Add(3*time.Minute), s.now(), time.Minute)
		s.after(time.Second, func() { s.events(box, 1, started(), completed(true)) })
	}
	s.after(5*time.Hour, func() { s.signal(contract.SignalAdmitted, nil) }) // long in the queue
	_, err := s.run()
	require.NoError(t, err)
	require.Len(t, asked, 1)
	require.Equal(t, contract.AskStartup, asked[0].Question)
}

func TestHeartbeats_StartNoTimers(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.observe = func(contract.CheckAgentInput) contract.Observation {
		return contract.Observation{Seen: contract.ObservedWorking, Next: time.Minute}
	}
	s.spawned = func(_ int, box string) {
		s.after(time.Second, func() { s.events(box, 1, started()) })
		for i := range 60 {
			s.after(time.Duration(i+1)*time.Minute, func() { s.events(box, int64(i+2)) })
		}
		s.after(61*time.Minute, func() { s.events(box, 62, completed(true)) })
	}
	_, err := s.run()
	require.NoError(t, err)
	require.Zero(t, s.count(contract.CheckAgent), "an hour of heartbeats raises no question")
}

// The agent completes during a check. Its report counts, and not the observation that its process has ended.
func TestReportOfTheAgent_CountsBeforeAnObservation(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.observe = func(in contract.CheckAgentInput) contract.Observation {
		s.events(in.SandboxID, 2, completed(true))
		return contract.Observation{Seen: contract.ObservedExited, Class: task.ClassAgentError, LastSequence: 2}
	}
	s.spawned = func(_ int, box string) {
		s.after(time.Second, func() { s.events(box, 1, started()) })
	}
	_, err := s.run()
	require.NoError(t, err)
	require.Equal(t, 1, s.count(contract.BeginAttempt))
	require.Equal(t, task.StatusCompleted, s.last().Status)
}
