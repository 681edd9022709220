package workflows_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

func (s *fixture) requestCheck(sandboxID string) {
	s.signal(contract.SignalCheck, contract.CheckSignal{SandboxID: sandboxID})
}

// endsUnreported makes the first agent die without an event. The first requested check comes too early and observes unknown;
// the second finds the end. The second agent completes.
func (s *fixture) endsUnreported() {
	var died atomic.Bool
	s.observe = func(in contract.CheckAgentInput) contract.Observation {
		require.Equal(s.t, contract.AskEnded, in.Question)
		if !died.Load() {
			return contract.Observation{Seen: contract.ObservedUnknown}
		}
		return contract.Observation{Seen: contract.ObservedExited, Class: task.ClassInfrastructure, Reason: "It was killed."}
	}
	s.spawned = func(n int, box string) {
		s.after(time.Second, func() { s.events(box, 1, started()) })
		if n == 2 {
			s.after(5*time.Second, func() { s.events(box, 2, completed(true)) })
			return
		}
		s.after(10*time.Second, func() { s.requestCheck("another"); s.requestCheck(box) })
		s.after(20*time.Second, func() { died.Store(true); s.requestCheck(box) })
	}
}

func TestCheckSignal_DetectsAnEndedAgentAtOnce(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.endsUnreported()
	begun := s.now()
	_, err := s.run()
	require.NoError(t, err)
	require.Equal(t, 2, s.count(contract.CheckAgent), "one look for each that was asked for, and none of another sandbox")
	require.Less(t, s.now().Sub(begun), s.loaded.Settings.HeartbeatTimeout)
	for _, p := range s.projects {
		if p.Ended != nil && p.Ended.Number == 1 {
			require.Equal(t, task.ClassInfrastructure, p.Ended.Class)
			require.Equal(t, "It was killed.", p.Ended.Reason)
		}
	}
}

// A requested check that observes unknown leaves the regular checks on schedule.
func TestCheckSignal_InconclusiveCheckChangesNothing(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	var asked []string
	s.observe = func(in contract.CheckAgentInput) contract.Observation {
		if asked = append(asked, in.Question); in.Question == contract.AskEnded {
			return contract.Observation{Seen: contract.ObservedUnknown}
		}
		return contract.Observation{Seen: contract.ObservedSilent, Class: task.ClassInfrastructure}
	}
	var silent time.Time
	s.spawned = func(n int, box string) {
		if n == 2 {
			require.WithinDuration(t, silent.Add(s.loaded.Settings.HeartbeatTimeout), s.now(), time.Minute)
			s.after(time.Second, func() { s.events(box, 1, started(), completed(true)) })
			return
		}
		s.after(time.Second, func() { silent = s.now(); s.events(box, 1, started()) })
		for i := range 3 {
			s.after(time.Duration(i+2)*10*time.Second, func() { s.requestCheck(box) })
		}
	}
	_, err := s.run()
	require.NoError(t, err)
	require.Equal(t, []string{contract.AskEnded, contract.AskEnded, contract.AskEnded, contract.AskHeartbeat}, asked)
}
