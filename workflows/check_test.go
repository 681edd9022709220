package workflows_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

func (s *stage) look(sandboxID string) {
	s.signal(contract.SignalCheck, contract.CheckSignal{SandboxID: sandboxID})
}

// endsWithoutAWord has the first agent die. The first look, which comes too early, learns nothing; the
// second agent completes.
func (s *stage) endsWithoutAWord() {
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
		s.after(10*time.Second, func() { s.look("another"); s.look(box) })
		s.after(20*time.Second, func() { died.Store(true); s.look(box) })
	}
}

func TestCheckSignal_DetectsAnEndedAgentAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.endsWithoutAWord()
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

// A look that learns nothing changes nothing: the timers ask when they would have.
func TestCheckSignal_InconclusiveCheckChangesNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
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
			s.after(time.Duration(i+2)*10*time.Second, func() { s.look(box) })
		}
	}
	_, err := s.run()
	require.NoError(t, err)
	require.Equal(t, []string{contract.AskEnded, contract.AskEnded, contract.AskEnded, contract.AskHeartbeat}, asked)
}
