package workflows_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestProviderLimit_WaitsWithoutASlot(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	var reset time.Time
	s.spawned = func(n int, box string) {
		if n == 2 {
			require.False(t, s.now().Before(reset))
			s.after(time.Second, func() { s.events(box, 1, started(), completed(true)) })
			return
		}
		reset = s.now().Add(time.Hour)
		limit := contract.Milestone{Type: event.AgentError, Class: task.ClassProviderLimit, ResetAt: reset}
		s.after(time.Second, func() { s.events(box, 1, started(), limit) })
	}
	_, err := s.run()
	require.NoError(t, err)
	require.Zero(t, s.last().Retries, "a limit is no failure of the task")
	var suspended bool
	for _, p := range s.projects {
		suspended = suspended || (p.Blocked == task.BlockedProviderLimit && p.ReleaseSlot && p.SandboxID == "")
	}
	require.True(t, suspended)
}

func TestPassedVerdictOnASuspendedTaskPublishes(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.spawned = func(_ int, box string) {
		limit := contract.Milestone{Type: event.AgentError, Class: task.ClassProviderLimit, ResetAt: s.now().Add(time.Hour)}
		s.after(time.Second, func() { s.events(box, 1, started(), limit) })
		s.after(time.Minute, func() { s.command(contract.CommandVerdict, "v", "ok") })
	}
	result, err := s.run()
	require.NoError(t, err)
	require.Equal(t, task.StatusCompleted, result.Status)
	require.Len(t, s.begun, 1)
	require.Equal(t, task.ReceiptCarriedOut, s.receipts()["v"])
}

func TestGitHostDown_TaskDoesNotContinueWithoutItsBranch(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.succeeds()
	s.fail[contract.EnsureBranch] = []error{refusal(task.ClassInfrastructure), refusal(task.ClassInfrastructure)}
	_, err := s.run()
	require.NoError(t, err)
	require.Equal(t, []string{
		contract.LoadTask, contract.EnsureBranch, contract.EnsureBranch, contract.EnsureBranch, contract.BeginAttempt,
	}, s.calls[:5])

	s = newFixture(t)
	for range 4 {
		s.fail[contract.EnsureBranch] = append(s.fail[contract.EnsureBranch], refusal(task.ClassInfrastructure))
	}
	_, err = s.run()
	require.Error(t, err)
	require.Zero(t, s.count(contract.BeginAttempt))
	require.Equal(t, "it was refused", s.last().Reason, "the git host's own words")
}

func TestCompletion_IsAcceptedOnlyOncePublished(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.spawned = func(_ int, box string) {
		s.after(time.Second, func() { s.events(box, 1, started()) })
		s.after(2*time.Second, func() { s.command(contract.CommandComplete, "done", "ok") })
		for range 8 {
			s.fail[contract.CollectWork] = append(s.fail[contract.CollectWork], errors.New("slow"))
		}
		s.after(5*time.Second, func() { s.command(contract.CommandCancel, "stop", "") })
	}
	_, err := s.run()
	require.True(t, temporal.IsCanceledError(err))
	require.Equal(t, map[string]task.Receipt{"done": task.ReceiptRefused, "stop": task.ReceiptCarriedOut}, s.receipts())
}

func TestFailedVerdict_StartsARevision(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.spawned = func(n int, box string) {
		s.after(time.Second, func() { s.events(box, 1, started()) })
		verdict := "no"
		if n == 2 {
			verdict = "ok"
		}
		s.after(2*time.Second, func() { s.command(contract.CommandVerdict, "v"+s.box(n), verdict) })
	}
	_, err := s.run()
	require.NoError(t, err)
	require.Contains(t, s.statuses(), task.StatusNeedsRevision)
	require.Equal(t, "revision", s.begun[1].Kind)
	require.Zero(t, s.last().Retries)
	require.Equal(t, 1, s.last().Revisions)
}

func TestPublishFailure_KeepsTheWorkAndRetriesFromThere(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.succeeds()
	s.fail[contract.OpenPullRequest] = []error{refusal(task.ClassPublish)}
	_, err := s.run()
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.Equal(t, string(task.ClassPublish), app.Type())
	require.Equal(t, 1, s.count(contract.CollectWork))

	again := newFixture(t)
	again.loaded.PublishOnly = true
	again.loaded.State.Attempts = 1
	result, err := again.run()
	require.NoError(t, err)
	require.Equal(t, task.StatusCompleted, result.Status)
	require.Zero(t, again.count(contract.BeginAttempt)+again.count(contract.EnsureSandbox))
	require.Equal(t, 1, again.count(contract.OpenPullRequest))
}

// An attempt records that its work was done, also if publish failed: a retry continues from there.
func TestPublish_RefusedCredentialsKeepTheWork(t *testing.T) {
	t.Parallel()
	for _, step := range []string{contract.CollectWork, contract.OpenPullRequest} {
		s := newFixture(t)
		s.succeeds()
		s.fail[step] = []error{refusal(task.ClassCredentials)}
		_, err := s.run()
		var app *temporal.ApplicationError
		require.ErrorAs(t, err, &app)
		require.Equal(t, string(task.ClassCredentials), app.Type())
		require.Equal(t, task.ClassCredentials, s.last().Class)
		require.Equal(t, task.ClassPublish, s.last().Ended.Class)
	}
}

func TestSandboxLostBeforeCollect_FailsTheAttempt(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.succeeds()
	s.fail[contract.CollectWork] = []error{refusal(task.ClassInfrastructure)}
	_, err := s.run()
	require.NoError(t, err)
	require.Len(t, s.begun, 2)
	require.Equal(t, task.StatusCompleted, s.last().Status)
}

// TestTask_RepeatsTests expects one repeat for the pushed work. Only changed tests against the contract end the attempt.
func TestTask_RepeatsTests(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err      error
		attempts int
	}{
		"result":       {nil, 1},
		"no result":    {refusal(task.ClassInfrastructure), 1},
		"tests change": {testsChanged(), 2},
	} {
		s := newFixture(t)
		s.tested = true
		s.succeeds()
		if c.err != nil {
			s.fail[contract.RepeatTests] = []error{c.err}
		}
		_, err := s.run()
		require.NoError(t, err, name)
		require.Len(t, s.begun, c.attempts, name)
		require.Len(t, s.repeated, c.attempts, name)
		require.Equal(t, "beef", s.repeated[0].Commit)
		require.Equal(t, task.StatusCompleted, s.last().Status, name)
	}
	s := newFixture(t)
	s.tested = true
	s.succeeds()
	s.fail[contract.RepeatTests] = []error{testsChanged()}
	_, err := s.run()
	require.NoError(t, err)
	require.Equal(t, "error-8", s.begun[1].FeedbackID, "the next attempt gets the reason")
	require.Equal(t, 1, s.count(contract.OpenPullRequest))
}

// TestTask_CancelWhileTestsRepeat expects that a cancel ends the repeat.
func TestTask_CancelWhileTestsRepeat(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.tested = true
	s.succeeds()
	s.repeating = func(ctx context.Context) {
		s.command(contract.CommandCancel, "c1", "enough")
		assert.Eventually(s.t, func() bool {
			activity.RecordHeartbeat(ctx)
			return ctx.Err() != nil
		}, 30*time.Second, 10*time.Millisecond, "the repeat continues")
	}
	_, err := s.run()
	require.Error(t, err)
	require.Equal(t, task.StatusCancelled, s.last().Status)
	require.Zero(t, s.count(contract.OpenPullRequest))
}

// TestTask_BudgetWhileTestsRepeat expects that a spent budget ends the repeat, and not the task.
func TestTask_BudgetWhileTestsRepeat(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.tested = true
	s.succeeds()
	s.repeating = func(ctx context.Context) {
		s.command(contract.CommandBudget, "b1", "spent")
		assert.Eventually(s.t, func() bool {
			activity.RecordHeartbeat(ctx)
			return ctx.Err() != nil
		}, 30*time.Second, 10*time.Millisecond, "the repeat continues")
	}
	_, err := s.run()
	require.NoError(t, err)
	require.Equal(t, task.StatusCompleted, s.last().Status)
	require.Equal(t, task.ReceiptTooLate, s.receipts()["b1"])
}

// TestTask_RepeatEndsWithTheAttempt expects that a repeat has the rest of the attempt's maximum duration, and no more than its own.
func TestTask_RepeatEndsWithTheAttempt(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]time.Duration{{time.Hour, time.Hour}, {24 * time.Hour, 150 * time.Minute}} {
		attempt, most := c[0], c[1]
		s := newFixture(t)
		s.tested, s.loaded.Settings.AttemptTimeout = true, attempt
		s.succeeds()
		s.repeating = func(ctx context.Context) {
			got := activity.GetInfo(ctx).ScheduleToCloseTimeout
			assert.LessOrEqual(t, got, most)
			assert.Greater(t, got, most-10*time.Minute)
		}
		_, err := s.run()
		require.NoError(t, err)
		require.Len(t, s.repeated, 1)
	}
}

// TestTask_ClaimWithoutCommit expects another attempt if the branch does not contain the work that the agent claims.
func TestTask_ClaimWithoutCommit(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.loaded.State.Continuous = true
	s.spawned = func(_ int, box string) {
		s.after(time.Second, func() { s.events(box, 1, started()) })
		s.after(2*time.Second, func() { s.events(box, 2, contract.Milestone{Type: event.ContinuousCompleted, OK: true}) })
	}
	s.fail[contract.CollectWork] = []error{refusal(task.ClassAgentError)}
	_, err := s.run()
	require.NoError(t, err)
	require.Len(t, s.begun, 2)
	require.Equal(t, []bool{true, true}, s.claimed)
	require.Equal(t, []bool{false, false}, s.reported)
	require.Equal(t, task.StatusCompleted, s.last().Status)

	s = newFixture(t)
	s.succeeds()
	_, err = s.run()
	require.NoError(t, err)
	require.Equal(t, []bool{false}, s.claimed, "a single run claims no validation")
	require.Equal(t, []bool{true}, s.reported, "a single run that is empty fails")
}
