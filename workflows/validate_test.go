package workflows_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// validated makes the task require validation. The agent of a working attempt completes; validator plays that of a
// validating attempt.
func validated(s *fixture, validator func(round int, box string)) {
	s.loaded.State.Rounds = 3
	round := 0
	s.spawned = func(n int, box string) {
		s.after(time.Second, func() { s.events(box, 1, started()) })
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.begun[n-1].Kind != task.KindValidation {
			s.after(4*time.Second, func() { s.events(box, 2, completed(true)) })
			return
		}
		round++
		now := round
		s.after(4*time.Second, func() { validator(now, box) })
	}
}

// judges returns a validator that gives the nth verdict in round n.
func judges(s *fixture, verdicts ...string) func(int, string) {
	return func(round int, box string) { s.verdict(box, verdicts[round-1]) }
}

// verdict signals the verdict of the validator in a sandbox.
func (s *fixture) verdict(box, said string) {
	s.mu.Lock()
	s.validators["v"+box] = box
	s.mu.Unlock()
	s.command(contract.CommandVerdict, "v"+box, said)
}

func (s *fixture) kinds() (kinds []string) {
	for _, in := range s.begun {
		kinds = append(kinds, in.Kind)
	}
	return kinds
}

func (s *fixture) outcomes() (outcomes []string) {
	for _, p := range s.projects {
		if p.Ended != nil {
			outcomes = append(outcomes, p.Ended.Outcome)
		}
	}
	return outcomes
}

func TestWorkIsValidatedBeforeItIsPublished(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	validated(s, judges(s, "no", "ok"))
	result, err := s.run()
	require.NoError(t, err)
	require.Equal(t, task.StatusCompleted, result.Status)
	require.Equal(t, []string{"first", "validation", "revision", "validation"}, s.kinds())
	require.Equal(t, []string{"completed", "rejected", "completed", "completed"}, s.outcomes())
	require.Equal(t, []task.Status{
		task.StatusAssigned, task.StatusRunning, task.StatusPendingValidation, task.StatusValidating, task.StatusNeedsRevision,
		task.StatusAssigned, task.StatusRunning, task.StatusPendingValidation, task.StatusValidating, task.StatusCompleted,
	}, s.statuses())
	require.Equal(t, 2, s.count(contract.CollectWork), "of the attempts that work, not of those that validate")
	require.Equal(t, 1, s.count(contract.OpenPullRequest))
	require.Equal(t, "feedback-vbox2", s.begun[2].FeedbackID)
	require.Zero(t, s.last().Retries)
	require.Equal(t, 1, s.last().Revisions)
	require.Equal(t, map[string]task.Receipt{"vbox2": task.ReceiptCarriedOut, "vbox4": task.ReceiptCarriedOut}, s.receipts())
}

func TestValidation_LastRoundEndsTheTask(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	validated(s, judges(s, "no", "no", "no"))
	_, err := s.run()
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.Equal(t, string(task.ClassAgentError), app.Type())
	require.Len(t, s.begun, 6)
	require.Zero(t, s.count(contract.OpenPullRequest))
	require.Equal(t, "round 3 of 3: the validator said no", s.last().Reason)
	require.Equal(t, "feedback-vbox6", s.last().ErrorID, "its words are the task's error")
	require.True(t, s.last().Quotes)
	require.Equal(t, "rejected", s.last().Ended.Outcome)
}

func TestValidator_WithoutAVerdictIsRetried(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	validated(s, func(round int, box string) {
		switch round {
		case 1:
			s.events(box, 2, completed(true))
		case 2:
			s.events(box, 2, agentError(task.ClassAgentError))
		default:
			s.verdict(box, "ok")
		}
	})
	_, err := s.run()
	require.NoError(t, err)
	require.Equal(t, []string{"first", "validation", "validation", "validation"}, s.kinds())
	require.Equal(t, 2, s.last().Retries)
	require.Zero(t, s.last().Revisions)
	require.Equal(t, []string{"completed", "failed", "failed", "completed"}, s.outcomes())
}

// After an interrupted validator another one starts, and the task keeps its retries. A validator that reaches its own limit
// leaves the decision to a user.
func TestValidator_InterruptedCostsNoRetry(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.loaded.State.MaxRetries = 0
	validated(s, func(round int, box string) {
		if round > 1 {
			s.verdict(box, "ok")
			return
		}
		s.events(box, 2, interruptedValidator())
	})
	_, err := s.run()
	require.NoError(t, err)
	require.Equal(t, []string{"first", "validation", "validation"}, s.kinds())
	require.Zero(t, s.last().Retries)
	require.Equal(t, []string{"completed", "failed", "completed"}, s.outcomes())
	why := task.WasInterrupted + ", and no message came that says how to go on. Another validator reviews the work."
	require.True(t, slices.ContainsFunc(s.projects, func(p contract.Projection) bool { return p.Reason == why }))
}

func interruptedValidator() contract.Milestone {
	said := agentError(task.ClassStopped)
	said.StopReason, said.EndReason.Code = "interrupted", task.ReasonInterrupted
	return said
}

// reviewedByUser makes the validator of the first round reach its own limit, and a user decide afterwards.
func reviewedByUser(s *fixture, kind, said string) {
	s.senders = map[string]string{"v1": "review"} // its feedback is stored
	validated(s, func(round int, box string) {
		if round > 1 {
			s.verdict(box, "ok")
			return
		}
		s.events(box, 2, agentError(task.ClassStopped))
		s.after(time.Minute, func() { s.command(kind, "v1", said) })
	})
}

// suspendedFor returns the projections of a task that is suspended for a reason.
func (s *fixture) suspendedFor(why task.BlockedReason) (suspended []contract.Projection) {
	for _, p := range s.projects {
		if p.Blocked == why && p.Ended != nil {
			suspended = append(suspended, p)
		}
	}
	return suspended
}

func TestValidatorLimit_WaitsForAUsersReview(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind, said string
		kinds      []string
	}{
		"accepted":          {contract.CommandVerdict, "ok", []string{"first", "validation"}},
		"sent back":         {contract.CommandVerdict, "no", []string{"first", "validation", "revision", "validation"}},
		"another validator": {contract.CommandRetry, "", []string{"first", "validation", "validation"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			reviewedByUser(s, c.kind, c.said)
			result, err := s.run()
			require.NoError(t, err)
			require.Equal(t, task.StatusCompleted, result.Status)
			require.Equal(t, c.kinds, s.kinds())
			suspended := s.suspendedFor(task.BlockedReview)
			require.Len(t, suspended, 1)
			require.True(t, suspended[0].ReleaseSlot)
			require.Equal(t, task.ClassStopped, suspended[0].Ended.Class)
			require.Equal(t, task.ReceiptCarriedOut, s.receipts()["v1"])
			if c.said == "no" {
				require.Equal(t, "feedback-v1", s.begun[2].FeedbackID)
			}
		})
	}
}

func TestValidatorError_WaitsForAUsersReview(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	failedValidator(s)
	result, err := s.run()
	require.NoError(t, err)
	require.Equal(t, task.StatusCompleted, result.Status)
	require.Equal(t, []string{"first", "validation"}, s.kinds())
	suspended := s.suspendedFor(task.BlockedReview)
	require.Len(t, suspended, 1)
	require.Equal(t, task.ClassCredentials, suspended[0].Ended.Class)
}

// failedValidator makes the validator report a permanent error, and a user accept the work afterwards.
func failedValidator(s *fixture) {
	validated(s, func(_ int, box string) {
		s.events(box, 2, agentError(task.ClassCredentials))
		s.after(time.Minute, func() { s.command(contract.CommandVerdict, "v1", "ok") })
	})
}

func TestValidatorTimeout_WaitsForAUsersReview(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.loaded.Settings.AttemptTimeout = 10 * time.Minute
	s.observe = func(contract.CheckAgentInput) contract.Observation {
		return contract.Observation{Seen: contract.ObservedWorking, Next: time.Minute}
	}
	validated(s, func(int, string) { s.after(20*time.Minute, func() { s.command(contract.CommandVerdict, "v1", "ok") }) })
	_, err := s.run()
	require.NoError(t, err)
	require.Len(t, s.suspendedFor(task.BlockedReview), 1)
}

// A task without a validator accepts verdicts from outside: three revisions, and then the end.
func TestFourthFailedVerdict_GivesTheValidatorsWordsAndTheRounds(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.senders = map[string]string{}
	s.spawned = func(_ int, box string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.senders["v"+box] = "outside"
		s.after(time.Second, func() { s.events(box, 1, started()) })
		s.after(4*time.Second, func() { s.command(contract.CommandVerdict, "v"+box, "no") })
	}
	_, err := s.run()
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.Equal(t, string(task.ClassAgentError), app.Type())
	require.Len(t, s.begun, 4)
	require.Equal(t, "round 4 of 4: the validator said no", s.last().Reason)
	require.Equal(t, "feedback-vbox4", s.last().ErrorID)
	require.True(t, s.last().Quotes)
}

// judgedEarly gives a verdict during the start of the first agent, which lasts until the workflow has received the verdict.
func judgedEarly(s *fixture) {
	s.starting = func(ctx context.Context) {
		if s.count(contract.StartAgent) > 1 {
			return
		}
		s.command(contract.CommandVerdict, "early", "no")
		assert.Eventually(s.t, func() bool {
			activity.RecordHeartbeat(ctx)
			return ctx.Err() != nil
		}, 30*time.Second, 10*time.Millisecond, "the start continues")
	}
	s.spawned = func(n int, box string) {
		if n > 1 {
			s.after(time.Second, func() { s.events(box, 1, started(), completed(true)) })
		}
	}
}

func TestVerdictDuringAgentStart_IsApplied(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	judgedEarly(s)
	_, err := s.run()
	require.NoError(t, err)
	require.Equal(t, task.ReceiptCarriedOut, s.receipts()["early"])
	require.Equal(t, []string{"first", "revision"}, s.kinds())
}

func TestValidators_WithoutAVerdictPassNothing(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.loaded.State.MaxRetries = 1
	validated(s, func(_ int, box string) { s.events(box, 2, completed(true)) })
	_, err := s.run()
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.Equal(t, string(task.ClassInfrastructure), app.Type())
	require.Equal(t, "the validator ended without a verdict", s.last().Reason)
	require.Zero(t, s.count(contract.OpenPullRequest))
}

// The end of a validator may overtake its verdict: an event and a command reach the workflow separately.
func TestVerdict_AfterTheValidatorsEndCounts(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	validated(s, func(_ int, box string) {
		s.events(box, 2, completed(true))
		s.after(2*time.Second, func() { s.verdict(box, "ok") })
	})
	_, err := s.run()
	require.NoError(t, err)
	require.Len(t, s.begun, 2)
}

// lateVerdict returns a validator whose verdict is accepted at once and reaches the task only some time after its end.
func lateVerdict(s *fixture, after time.Duration) func(int, string) {
	return func(_ int, box string) {
		s.mu.Lock()
		s.unread[box] = contract.Digest{SandboxID: box, VerdictDue: true}
		s.mu.Unlock()
		s.events(box, 2, completed(true))
		s.after(after, func() { s.verdict(box, "ok") })
	}
}

// An accepted verdict counts, however late it reaches the task; no other validator starts.
func TestVerdict_AcceptedIsAwaited(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	validated(s, lateVerdict(s, 5*time.Minute))
	_, err := s.run()
	require.NoError(t, err)
	require.Equal(t, []string{"first", "validation"}, s.kinds())
	require.Equal(t, []string{"completed", "completed"}, s.outcomes())
}

// Events read from the store do not overtake a pending verdict either, not even the validator's failure.
func TestVerdict_IsNotOvertakenByTheValidatorsEnd(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	validated(s, func(_ int, box string) {
		failed := agentError(task.ClassAgentError)
		failed.Sequence = 2
		s.mu.Lock()
		s.unread[box] = contract.Digest{SandboxID: box, From: 2, To: 2, Milestones: []contract.Milestone{failed}, VerdictDue: true}
		s.mu.Unlock()
		s.events(box, 3) // leaves a gap
		s.after(time.Minute, func() { s.verdict(box, "ok") })
	})
	_, err := s.run()
	require.NoError(t, err)
	require.Equal(t, []string{"first", "validation"}, s.kinds())
}

// A store that cannot be reached says nothing about the verdict.
func TestVerdict_UnknownEndsNothing(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	validated(s, func(_ int, box string) {
		s.mu.Lock()
		s.fail[contract.LoadEvents] = []error{refusal(task.ClassInfrastructure), refusal(task.ClassInfrastructure)}
		s.mu.Unlock()
		s.events(box, 2, completed(true))
		s.after(25*time.Second, func() { s.verdict(box, "ok") })
	})
	_, err := s.run()
	require.NoError(t, err)
	require.Equal(t, []string{"first", "validation"}, s.kinds())
}

func TestVerdict_OfAnEarlierRoundIsTooLate(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	validated(s, func(round int, box string) {
		if round == 1 {
			s.verdict(box, "no")
			return
		}
		s.validators["late"] = s.box(2)
		s.command(contract.CommandVerdict, "late", "ok")
		s.after(3*time.Second, func() { s.verdict(box, "ok") })
	})
	_, err := s.run()
	require.NoError(t, err)
	require.Len(t, s.begun, 4)
	require.Equal(t, task.ReceiptTooLate, s.receipts()["late"])
}

func TestReview_ByAUserReplacesTheValidator(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	validated(s, func(_ int, box string) {
		if box == s.box(2) {
			s.command(contract.CommandVerdict, "person", "no")
			return
		}
		s.command(contract.CommandVerdict, "person too", "ok")
	})
	_, err := s.run()
	require.NoError(t, err)
	require.Equal(t, []string{"first", "validation", "revision", "validation"}, s.kinds())
	require.Equal(t, task.ReceiptCarriedOut, s.receipts()["person"])
}

// A verdict of the agent that did the work counts as its completion.
func TestValidation_AgentDoesNotValidateItsOwnWork(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	validated(s, judges(s, "ok"))
	plain := s.spawned
	s.spawned = func(n int, box string) {
		if n > 1 {
			plain(n, box)
			return
		}
		own := completed(true)
		own.Verdict = true
		s.after(time.Second, func() { s.events(box, 1, started(), own) })
	}
	_, err := s.run()
	require.NoError(t, err)
	require.Equal(t, []string{"first", "validation"}, s.kinds())
}

func TestSubmit_FailedIsRepeatedByANewAttempt(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	validated(s, judges(s, "ok"))
	s.fail[contract.CollectWork] = []error{refusal(task.ClassInfrastructure)}
	_, err := s.run()
	require.NoError(t, err)
	require.Equal(t, []string{"first", "retry", "validation"}, s.kinds())
}

// Work of an attempt that was suspended before the push is not on the branch, so that no validator may start.
func TestSubmit_SuspendedIsRepeatedByANewAttempt(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	validated(s, judges(s, "ok"))
	s.fail[contract.CollectWork] = []error{limit(s.now().Add(time.Hour))}
	s.after(30*time.Minute, func() { s.command(contract.CommandPause, "p", "enough for now") })
	s.after(2*time.Hour, func() { s.command(contract.CommandRetry, "r", "go on") })
	_, err := s.run()
	require.NoError(t, err)
	require.Equal(t, []string{"first", "resumed", "validation"}, s.kinds())
	require.Equal(t, []string{"suspended", "completed", "completed"}, s.outcomes())
	require.Equal(t, 2, s.count(contract.CollectWork))
}

// A run that loads a task whose work waits for a verdict continues with the validation.
func TestContinueAsNew_KeepsTheValidation(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	validated(s, judges(s, "ok"))
	s.loaded.State.Status, s.loaded.State.Stage = task.StatusPendingValidation, task.StageValidate
	_, err := s.run()
	require.NoError(t, err)
	require.Equal(t, []string{"validation"}, s.kinds())
	require.Zero(t, s.count(contract.CollectWork))
}

// The retry of a task whose work could not be submitted pushes the saved work and validates it, without repeating it.
func TestRetry_SubmitsSavedWork(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fails func(*fixture) []error
		kinds []string
		tries int
	}{
		"at once":           {func(*fixture) []error { return nil }, []string{"validation"}, 1},
		"after a limit":     {func(s *fixture) []error { return []error{limit(s.now().Add(time.Hour))} }, []string{"validation"}, 2},
		"that fits no more": {func(*fixture) []error { return []error{redo()} }, []string{"retry", "validation"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			validated(s, judges(s, "ok"))
			s.loaded.Saved, s.fail[contract.PublishBranch] = true, c.fails(s)
			result, err := s.run()
			require.NoError(t, err)
			require.Equal(t, task.StatusCompleted, result.Status)
			require.Equal(t, c.kinds, s.kinds())
			require.Equal(t, c.tries, s.count(contract.PublishBranch))
			require.Equal(t, len(c.kinds)-1, s.count(contract.CollectWork))
		})
	}
}

// If a user accepts work that could not be submitted, the saved work is pushed and published.
func TestReview_PublishesSavedWork(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	validated(s, judges(s, "ok"))
	s.loaded.Saved, s.fail[contract.PublishBranch] = true, []error{limit(s.now().Add(time.Hour))}
	s.after(30*time.Minute, func() { s.command(contract.CommandVerdict, "person", "ok") })
	_, err := s.run()
	require.NoError(t, err)
	require.Empty(t, s.begun)
	require.Equal(t, []int{2, 1}, []int{s.count(contract.PublishBranch), s.count(contract.OpenPullRequest)})
}
