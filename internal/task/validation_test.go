package task_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/omoi-dev/omoi/internal/task"
)

// validated is a running task whose work awaits validation; judged is one whose validator runs.
func validated() task.State { return with(running(), func(s *task.State) { s.Rounds = 3 }) }

func judged() task.State {
	return with(validated(), func(s *task.State) { s.Status, s.Stage, s.Attempts = task.StatusValidating, task.StageValidate, 2 })
}

func TestDecide_DuringValidation(t *testing.T) {
	t.Parallel()
	of := func(k task.FactKind, ok bool, c task.FailureClass) task.Fact {
		return task.Fact{Kind: k, SandboxID: box, OK: ok, Class: c}
	}
	person := func(k task.FactKind, ok bool) task.Fact { return task.Fact{Kind: k, OK: ok} }
	handing := with(validated(), func(s *task.State) { s.Stage = task.StageSubmit })
	between := with(judged(), func(s *task.State) { s.Status, s.SandboxID = task.StatusPendingValidation, "" })
	review, _ := task.Decide(judged(), of(task.FactValidatorLimit, false, ""))
	last := with(judged(), func(s *task.State) { s.Round = 2 })
	for name, c := range map[string]struct {
		state  task.State
		fact   task.Fact
		action task.Action
		leads  task.Status
		class  task.FailureClass
	}{
		"success goes to a validator":              {validated(), of(task.FactCompleted, true, ""), task.ActionValidate, task.StatusPendingValidation, ""},
		"an explicit completion too":               {validated(), person(task.FactComplete, true), task.ActionValidate, task.StatusPendingValidation, ""},
		"its own checks are no validation":         {with(validated(), func(s *task.State) { s.Continuous = true }), of(task.FactContinuousCompleted, true, ""), task.ActionValidate, task.StatusPendingValidation, ""},
		"a failed attempt is tried again":          {validated(), of(task.FactCompleted, false, ""), task.ActionBegin, task.StatusPending, task.ClassAgentError},
		"nobody judges his own work":               {validated(), of(task.FactVerdict, true, ""), task.ActionIgnore, task.StatusRunning, ""},
		"a person may judge before a validator":    {validated(), person(task.FactVerdict, true), task.ActionPublish, task.StatusCompleted, ""},
		"handed in, the sandbox may die":           {handing, of(task.FactObserved, false, task.ClassInfrastructure), task.ActionIgnore, task.StatusPendingValidation, ""},
		"on the branch a validator begins":         {handing, person(task.FactHandedIn, false), task.ActionBegin, task.StatusPendingValidation, ""},
		"nothing was handed in":                    {validated(), person(task.FactHandedIn, false), task.ActionIgnore, task.StatusRunning, ""},
		"a pass publishes":                         {judged(), of(task.FactVerdict, true, ""), task.ActionPublish, task.StatusCompleted, ""},
		"a no begins a revision":                   {judged(), of(task.FactVerdict, false, ""), task.ActionBegin, task.StatusNeedsRevision, ""},
		"a person's no between two attempts too":   {between, person(task.FactVerdict, false), task.ActionBegin, task.StatusNeedsRevision, ""},
		"the last round's no ends":                 {last, of(task.FactVerdict, false, ""), task.ActionFinish, task.StatusFailed, task.ClassAgentError},
		"the last round's pass publishes":          {last, of(task.FactVerdict, true, ""), task.ActionPublish, task.StatusCompleted, ""},
		"a validator's end is no verdict":          {judged(), of(task.FactCompleted, true, ""), task.ActionIgnore, task.StatusValidating, ""},
		"nor is that of its own checks":            {judged(), of(task.FactContinuousCompleted, true, ""), task.ActionIgnore, task.StatusValidating, ""},
		"nor an explicit completion":               {judged(), person(task.FactComplete, true), task.ActionIgnore, task.StatusValidating, ""},
		"nor a declared failure":                   {judged(), person(task.FactComplete, false), task.ActionIgnore, task.StatusValidating, ""},
		"a validator that gives up is tried again": {judged(), of(task.FactAgentFailed, false, task.ClassAgentError), task.ActionBegin, task.StatusPendingValidation, task.ClassInfrastructure},
		"one that dies too":                        {judged(), of(task.FactObserved, false, task.ClassInfrastructure), task.ActionBegin, task.StatusPendingValidation, task.ClassInfrastructure},
		"one that a person interrupts too":         {judged(), of(task.FactObserved, false, task.ClassStopped), task.ActionBegin, task.StatusPendingValidation, task.ClassStopped},
		"which costs no retry": {
			with(judged(), func(s *task.State) { s.Retries = 3 }), of(task.FactObserved, false, task.ClassStopped),
			task.ActionBegin, task.StatusPendingValidation, task.ClassStopped,
		},
		"nor after its verdict": {
			with(judged(), func(s *task.State) { s.Stage = task.StagePublish }), of(task.FactObserved, false, task.ClassStopped),
			task.ActionIgnore, task.StatusCompleted, "",
		},
		"and not for ever": {
			with(judged(), func(s *task.State) { s.Attempts = task.MaxAttempts }), of(task.FactObserved, false, task.ClassStopped),
			task.ActionFinish, task.StatusFailed, task.ClassStopped,
		},
		"the work of one that is interrupted ends": {validated(), of(task.FactObserved, false, task.ClassStopped), task.ActionFinish, task.StatusFailed, task.ClassStopped},
		"its own limit waits for a review":         {judged(), of(task.FactValidatorLimit, false, ""), task.ActionPark, task.StatusPending, task.ClassStopped},
		"a permanent error too":                    {judged(), of(task.FactValidatorLimit, false, task.ClassCredentials), task.ActionPark, task.StatusPending, task.ClassCredentials},
		"a review's no begins a revision":          {review, person(task.FactVerdict, false), task.ActionBegin, task.StatusNeedsRevision, ""},
		"a review's yes publishes":                 {review, person(task.FactVerdict, true), task.ActionPublish, task.StatusCompleted, ""},
		"a retry begins another validator":         {review, person(task.FactRetry, true), task.ActionBegin, task.StatusPendingValidation, ""},
		"not more often than any other": {
			with(judged(), func(s *task.State) { s.Retries = 3 }), of(task.FactObserved, false, task.ClassInfrastructure),
			task.ActionFinish, task.StatusFailed, task.ClassInfrastructure,
		},
		"its provider's limit parks":  {judged(), of(task.FactAgentFailed, false, task.ClassProviderLimit), task.ActionPark, task.StatusPending, task.ClassProviderLimit},
		"a verdict of a round before": {judged(), task.Fact{Kind: task.FactVerdict, SandboxID: "other", OK: true}, task.ActionIgnore, task.StatusValidating, ""},
		"a cancel ends":               {judged(), person(task.FactCancel, true), task.ActionFinish, task.StatusCancelled, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			after, eff := task.Decide(c.state, c.fact)
			require.Equal(t, c.action, eff.Action)
			require.Equal(t, c.leads, eff.Leads)
			require.Equal(t, c.class, eff.Class)
			require.True(t, task.CanMove(c.state.Status, after.Status), "%s -> %s", c.state.Status, after.Status)
		})
	}
}

func TestSuspendedTask_StillAcceptsItsVerdict(t *testing.T) {
	t.Parallel()
	parked, _ := task.Decide(judged(), task.Fact{Kind: task.FactAgentFailed, SandboxID: box, Class: task.ClassProviderLimit})
	again, eff := task.Decide(parked, task.Fact{Kind: task.FactRetry})
	require.Equal(t, task.ActionBegin, eff.Action)
	require.Equal(t, task.StageValidate, again.Stage)
	require.Equal(t, task.StatusPendingValidation, again.Status)
}

// TestDecide_NeverPassesWithoutAVerdict throws any facts but a pass at tasks whose work is validated: none of
// them is published, no round comes twice, and there are never more than there are to be.
func TestDecide_NeverPassesWithoutAVerdict(t *testing.T) {
	t.Parallel()
	kinds := factKinds(t, task.FactPublished)
	classes := []task.FailureClass{task.ClassNone, task.ClassInfrastructure, task.ClassAgentError, task.ClassProviderLimit, task.ClassStopped}
	rapid.Check(t, func(t *rapid.T) {
		rounds := rapid.IntRange(1, 4).Draw(t, "rounds")
		s := task.State{Status: task.StatusPending, MaxRetries: 10, Rounds: rounds, Continuous: rapid.Bool().Draw(t, "continuous")}
		for range rapid.IntRange(1, 60).Draw(t, "facts") {
			if s.SandboxID == "" && !s.Status.Final() && s.Stage != task.StageSubmit {
				s = begun(s)
			}
			f := task.Fact{
				Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), SandboxID: rapid.SampledFrom([]string{"", box, "other"}).Draw(t, "sandbox"),
				OK: rapid.Bool().Draw(t, "ok"), Class: rapid.SampledFrom(classes).Draw(t, "class"),
			}
			f.OK = f.OK && f.Kind != task.FactVerdict
			after, eff := task.Decide(s, f)
			require.True(t, task.CanMove(s.Status, after.Status), "%s -> %s on %s", s.Status, after.Status, f.Kind)
			require.NotEqual(t, task.ActionPublish, eff.Action, "published on %s without a pass", f.Kind)
			require.NotEqual(t, task.StatusCompleted, after.Status)
			require.LessOrEqual(t, after.Round, rounds)
			require.Less(t, after.Revisions, rounds)
			s = after
		}
	})
}

// begun is what the workflow makes of a task between two attempts.
func begun(s task.State) task.State {
	s.SandboxID, s.Attempts, s.Blocked, s.Status = box, s.Attempts+1, task.BlockedNone, task.StatusAssigned
	if s.Stage == task.StageValidate {
		s.Status = task.StatusValidating
	}
	return s
}

func TestValidation_RoundText(t *testing.T) {
	t.Parallel()
	said := task.Validation{Round: 2, SandboxID: box, Feedback: "add tests"}
	require.Equal(t, "round 2 of 3: the validator said no: add tests.", said.Words(3))
	require.Equal(t, "round 4 of 4: a person accepted the work", task.Validation{Round: 4, Passed: true}.Words(3))
	require.Equal(t, "round 1", task.RoundWords(1, 0))
}
