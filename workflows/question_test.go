package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
)

func asks() contract.Milestone { return contract.Milestone{Type: event.AgentWaiting, Question: true} }

// idle observes that the agent waits for as long as the check asks about.
func idle(in contract.CheckAgentInput) contract.Observation {
	if in.Question != contract.AskIdle {
		return contract.Observation{Seen: contract.ObservedWorking, Next: time.Minute}
	}
	return contract.Observation{Seen: contract.ObservedIdle, Class: task.ClassAgentError}
}

// playQuestion suspends a task for the question of its agent, until the answer resumes it.
func playQuestion(tr *serverFixture) {
	tr.observe = idle
	tr.loaded.Settings.QuestionWait = 100 * time.Millisecond
	var answer func()
	answer = func() {
		tr.mu.Lock()
		suspended := len(tr.suspendedFor(task.BlockedQuestion)) > 0
		tr.mu.Unlock()
		if !suspended {
			tr.after(time.Second, answer)
			return
		}
		tr.command(contract.CommandRetry, "r1", "the question was answered")
	}
	tr.spawned = func(n int, box string) {
		if n == 1 {
			tr.after(time.Second, func() { tr.events(box, 1, started(), asks()) })
			tr.after(2*time.Second, answer)
			return
		}
		tr.after(time.Second, func() { tr.events(box, 1, started(), completed(true)) })
	}
	require.NoError(tr.t, tr.play())
	require.Equal(tr.t, "resumed", tr.begun[1].Kind)
	require.Equal(tr.t, []string{"suspended", "completed"}, tr.outcomes())
	require.Len(tr.t, tr.suspendedFor(task.BlockedQuestion), 1)
}

func TestQuestion_WaitsFor30Days(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.observe = idle
	s.loaded.Settings.QuestionWait = time.Minute
	began := s.now()
	var silent int
	s.spawned = func(n int, box string) {
		if n == 1 {
			s.after(time.Second, func() { s.events(box, 1, started(), asks()) })
			s.after(time.Hour, func() { silent = len(s.calls) })
			s.after(30*24*time.Hour, func() {
				require.Len(t, s.calls, silent, "a suspended task does nothing")
				s.command(contract.CommandRetry, "r1", "the question was answered")
			})
			return
		}
		require.GreaterOrEqual(t, s.now().Sub(began), 30*24*time.Hour)
		s.after(time.Second, func() { s.events(box, 1, started(), completed(true)) })
	}
	_, err := s.run()
	require.NoError(t, err)
	suspended := s.suspendedFor(task.BlockedQuestion)
	require.Len(t, suspended, 1)
	require.True(t, suspended[0].ReleaseSlot)
	require.Equal(t, task.ReasonQuestion, suspended[0].EndReason.Code)
	require.Equal(t, []string{"suspended", "completed"}, s.outcomes())
	require.Equal(t, task.ReceiptCarriedOut, s.receipts()["r1"])
}

// TestQuestion_TheAgentWaitsFirst gives the agent an answer before the task would be suspended. Longer waits without work are no reason
// to end the attempt.
func TestQuestion_TheAgentWaitsFirst(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.loaded.Settings.NoWorkTimeout, s.loaded.Settings.IdleTimeout, s.loaded.Settings.QuestionWait = time.Minute, time.Minute, time.Hour
	s.observe = func(in contract.CheckAgentInput) contract.Observation {
		require.NotEqual(t, contract.AskIdle, in.Question)
		require.NotEqual(t, contract.AskNoWork, in.Question)
		return contract.Observation{Seen: contract.ObservedWorking, Next: time.Minute}
	}
	s.spawned = func(_ int, box string) {
		s.after(time.Second, func() { s.events(box, 1, started(), asks()) })
		s.after(50*time.Minute, func() { s.events(box, 3, completed(true)) })
	}
	_, err := s.run()
	require.NoError(t, err)
	require.Equal(t, []string{"completed"}, s.outcomes())
}

// TestQuestion_AtTheEndOfTheAttempt suspends a task whose agent still waits when its attempt reaches the maximum duration.
func TestQuestion_AtTheEndOfTheAttempt(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.loaded.Settings.AttemptTimeout, s.loaded.Settings.QuestionWait = 10*time.Minute, time.Hour
	s.spawned = func(n int, box string) {
		if n == 1 {
			s.after(time.Second, func() { s.events(box, 1, started(), asks()) })
			s.after(time.Hour, func() { s.command(contract.CommandRetry, "r1", "the question was answered") })
			return
		}
		s.after(time.Second, func() { s.events(box, 1, started(), completed(true)) })
	}
	_, err := s.run()
	require.NoError(t, err)
	require.Len(t, s.suspendedFor(task.BlockedQuestion), 1)
}
