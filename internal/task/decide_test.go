package task_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/omoi-dev/omoi/internal/task"
)

const box = "abcdefghijklmnopqrstuvwxyz"

func running() task.State {
	return task.State{Status: task.StatusRunning, SandboxID: box, Attempts: 1, MaxRetries: 3}
}

func with(s task.State, edit func(*task.State)) task.State {
	edit(&s)
	return s
}

func TestDecide(t *testing.T) {
	t.Parallel()
	of := func(k task.FactKind, ok bool, c task.FailureClass) task.Fact {
		return task.Fact{Kind: k, SandboxID: box, OK: ok, Class: c}
	}
	person := func(k task.FactKind, ok bool) task.Fact { return task.Fact{Kind: k, OK: ok} }
	continuous := with(running(), func(s *task.State) { s.Continuous = true })
	starting := with(running(), func(s *task.State) { s.Status = task.StatusPending })
	publishing := with(running(), func(s *task.State) { s.Stage = task.StagePublish })
	tests := []struct {
		name   string
		state  task.State
		fact   task.Fact
		action task.Action
		status task.Status
		leads  task.Status
		class  task.FailureClass
	}{
		{
			"started moves an assigned task", with(running(), func(s *task.State) { s.Status = task.StatusAssigned }),
			of(task.FactStarted, false, ""), task.ActionStay, task.StatusRunning, task.StatusRunning, "",
		},
		{"started twice changes nothing", running(), of(task.FactStarted, false, ""), task.ActionIgnore, task.StatusRunning, task.StatusRunning, ""},
		{
			"another sandbox's completion changes nothing", running(),
			task.Fact{Kind: task.FactCompleted, SandboxID: "other", OK: true},
			task.ActionIgnore, task.StatusRunning, task.StatusRunning, "",
		},
		{"success in single-run mode publishes", running(), of(task.FactCompleted, true, ""), task.ActionPublish, task.StatusRunning, task.StatusCompleted, ""},
		{"success in continuous mode never completes", continuous, of(task.FactCompleted, true, ""), task.ActionIgnore, task.StatusRunning, task.StatusRunning, ""},
		{"a passed validation publishes", continuous, of(task.FactContinuousCompleted, true, ""), task.ActionPublish, task.StatusRunning, task.StatusCompleted, ""},
		{
			"a run stopped at a limit is final", continuous, of(task.FactContinuousCompleted, false, task.ClassStopped),
			task.ActionFinish, task.StatusFailed, task.StatusFailed, task.ClassStopped,
		},
		{
			"a run that ends without passing is tried again", continuous, of(task.FactContinuousCompleted, false, ""),
			task.ActionBegin, task.StatusPending, task.StatusPending, task.ClassAgentError,
		},
		{"an agent error begins the next attempt", running(), of(task.FactAgentFailed, false, task.ClassAgentError), task.ActionBegin, task.StatusPending, task.StatusPending, task.ClassAgentError},
		{
			"the last attempt's error is the task's", with(running(), func(s *task.State) { s.Retries = 3 }),
			of(task.FactAgentFailed, false, task.ClassAgentError), task.ActionFinish, task.StatusFailed, task.StatusFailed, task.ClassAgentError,
		},
		{
			"without retries an error is final", with(running(), func(s *task.State) { s.MaxRetries = 0 }),
			of(task.FactAgentFailed, false, task.ClassAgentError), task.ActionFinish, task.StatusFailed, task.StatusFailed, task.ClassAgentError,
		},
		{"bad input is final", running(), of(task.FactStepFailed, false, task.ClassInvalidInput), task.ActionFinish, task.StatusFailed, task.StatusFailed, task.ClassInvalidInput},
		{"a provider limit parks", running(), of(task.FactAgentFailed, false, task.ClassProviderLimit), task.ActionPark, task.StatusPending, task.StatusPending, task.ClassProviderLimit},
		{"a dead sandbox while publishing changes nothing", publishing, of(task.FactObserved, false, task.ClassInfrastructure), task.ActionIgnore, task.StatusRunning, task.StatusCompleted, ""},
		{"unknown for too long parks", running(), of(task.FactTooLong, false, ""), task.ActionPark, task.StatusPending, task.StatusPending, task.ClassInfrastructure},
		{"the longest duration is a limit", running(), of(task.FactTooLong, true, ""), task.ActionFinish, task.StatusFailed, task.StatusFailed, task.ClassStopped},
		{"published completes", publishing, person(task.FactPublished, true), task.ActionFinish, task.StatusCompleted, task.StatusCompleted, ""},
		{"a cancel ends", running(), person(task.FactCancel, true), task.ActionFinish, task.StatusCancelled, task.StatusCancelled, ""},
		{"a cancel while publishing ends", publishing, person(task.FactCancel, true), task.ActionFinish, task.StatusCancelled, task.StatusCancelled, ""},
		{"a failed verdict begins a revision", running(), person(task.FactVerdict, false), task.ActionBegin, task.StatusNeedsRevision, task.StatusNeedsRevision, ""},
		{
			"the fourth failed verdict ends", with(running(), func(s *task.State) { s.Revisions = 3 }),
			person(task.FactVerdict, false), task.ActionFinish, task.StatusFailed, task.StatusFailed, task.ClassAgentError,
		},
		{"a verdict while the agent starts begins a revision", starting, person(task.FactVerdict, false), task.ActionBegin, task.StatusNeedsRevision, task.StatusNeedsRevision, ""},
		{"a verdict before an attempt is refused", task.State{Status: task.StatusPending}, person(task.FactVerdict, false), task.ActionIgnore, task.StatusPending, task.StatusPending, ""},
		{"a passed verdict publishes", running(), person(task.FactVerdict, true), task.ActionPublish, task.StatusRunning, task.StatusCompleted, ""},
		{"retry of a running task is refused", running(), person(task.FactRetry, true), task.ActionIgnore, task.StatusRunning, task.StatusRunning, ""},
		{"rewind of a running task begins", running(), person(task.FactRewind, false), task.ActionBegin, task.StatusPending, task.StatusPending, ""},
		{"rewind while publishing is too late", publishing, person(task.FactRewind, false), task.ActionIgnore, task.StatusRunning, task.StatusCompleted, ""},
		{"rewind between attempts is refused", task.State{Status: task.StatusPending}, person(task.FactRewind, false), task.ActionIgnore, task.StatusPending, task.StatusPending, ""},
		{
			"retry of a suspended task begins",
			task.State{Status: task.StatusPending, Blocked: task.BlockedUnknownTooLong, Attempts: 1},
			person(task.FactRetry, true), task.ActionBegin, task.StatusPending, task.StatusPending, "",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			after, eff := task.Decide(tt.state, tt.fact)
			require.Equal(t, tt.action, eff.Action)
			require.Equal(t, tt.status, eff.Status)
			require.Equal(t, tt.leads, eff.Leads)
			require.Equal(t, tt.class, eff.Class)
			require.Equal(t, eff.Status, after.Status)
		})
	}
}

// TestDecide_Invariants throws any facts at any task and checks what must hold of every answer.
func TestDecide_Invariants(t *testing.T) {
	t.Parallel()
	kinds := factKinds(t)
	classes := []task.FailureClass{task.ClassNone, task.ClassInfrastructure, task.ClassAgentError, task.ClassProviderLimit, task.ClassInvalidInput}
	rapid.Check(t, func(t *rapid.T) {
		s := task.State{Status: task.StatusPending, MaxRetries: rapid.IntRange(0, 10).Draw(t, "max"), Continuous: rapid.Bool().Draw(t, "continuous")}
		for range rapid.IntRange(1, 60).Draw(t, "facts") {
			if s.Status == task.StatusPending && s.SandboxID == "" && !s.Status.Final() {
				s.Status, s.SandboxID, s.Attempts, s.Blocked = task.StatusAssigned, box, s.Attempts+1, task.BlockedNone
			}
			f := task.Fact{
				Kind:      rapid.SampledFrom(kinds).Draw(t, "kind"),
				SandboxID: rapid.SampledFrom([]string{"", box, "other"}).Draw(t, "sandbox"),
				OK:        rapid.Bool().Draw(t, "ok"), Class: rapid.SampledFrom(classes).Draw(t, "class"),
			}
			after, eff := task.Decide(s, f)
			require.True(t, task.CanMove(s.Status, after.Status), "%s -> %s on %s", s.Status, after.Status, f.Kind)
			if s.Status.Final() {
				require.Equal(t, s, after, "a final task changed on %s", f.Kind)
			}
			if f.SandboxID == "other" {
				require.Equal(t, s, after, "a foreign sandbox changed the task")
			}
			if eff.Action == task.ActionFinish {
				require.True(t, after.Status.Final())
			}
			require.LessOrEqual(t, after.Retries, after.MaxRetries)
			require.LessOrEqual(t, after.Revisions, task.MaxRevisions)
			s = after
			if s.Status == task.StatusNeedsRevision {
				s.Status, s.SandboxID, s.Attempts = task.StatusAssigned, box, s.Attempts+1
			}
		}
	})
}

func TestTransitions(t *testing.T) {
	t.Parallel()
	for _, s := range task.Statuses() {
		require.True(t, s.Valid())
		require.True(t, task.CanMove(s, s))
		require.False(t, task.CanMove(task.StatusCompleted, s) && s != task.StatusCompleted && s != task.StatusPending, "completed is followed by %s", s)
		require.NotEqual(t, s.Final(), task.CanMove(s, task.StatusFailed) && !s.Final())
	}
	require.False(t, task.Status("claiming").Valid())
	require.True(t, task.CanMove(task.StatusFailed, task.StatusPending), "a failed task may be retried")
	require.False(t, task.CanMove(task.StatusFailed, task.StatusRunning), "a late event revives a failed task")
}
