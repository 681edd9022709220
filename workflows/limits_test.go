package workflows_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// limit returns the error of an activity that hits the Git host's rate limit.
func limit(until time.Time) error {
	return temporal.NewApplicationErrorWithOptions("GitHub's rate limit is reached.", string(task.ClassProviderLimit), temporal.ApplicationErrorOptions{
		NonRetryable: true, Details: []any{contract.ErrorDetails{Class: task.ClassProviderLimit, Code: task.CodeExhausted, ResetAt: until}},
	})
}

// testsChanged returns the error of work that passes only with changed tests, against its contract.
func testsChanged() error {
	return temporal.NewApplicationErrorWithOptions("The tests were changed.", string(task.ClassAgentError), temporal.ApplicationErrorOptions{
		NonRetryable: true, Details: []any{contract.ErrorDetails{
			Class: task.ClassAgentError, Code: task.CodeInvalid, ErrorID: "error-8", EndReason: task.Reason{Code: task.ReasonTestsChanged},
		}},
	})
}

// redo returns the error of an activity whose saved work no longer applies to its branch.
func redo() error {
	return temporal.NewApplicationErrorWithOptions("The branch has moved.", string(task.ClassPublish), temporal.ApplicationErrorOptions{
		NonRetryable: true, Details: []any{contract.ErrorDetails{Class: task.ClassPublish, Code: task.CodeConflict, ErrorID: "error-9", Redo: true}},
	})
}

// suspended returns the projection with which the task released its slot.
func (s *fixture) suspended() contract.Projection {
	s.t.Helper()
	for _, p := range s.projects {
		if p.Blocked == task.BlockedProviderLimit && p.ReleaseSlot {
			return p
		}
	}
	s.t.Fatal("the task was never suspended")
	return contract.Projection{}
}

func TestRateLimit_BeforeTheBranchSuspendsTheTask(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.succeeds()
	reset := s.now().Add(time.Hour)
	s.fail[contract.EnsureBranch] = []error{limit(reset), limit(reset.Add(time.Hour))}
	s.onBranch = func() { require.False(t, s.count(contract.EnsureBranch) == 3 && s.now().Before(reset.Add(time.Hour))) }
	result, err := s.run()
	require.NoError(t, err)
	require.Equal(t, "feature/x", result.Branch)
	require.Equal(t, "GitHub's rate limit is reached.", s.suspended().Reason)
	require.Equal(t, 3, s.count(contract.EnsureBranch))
	require.Len(t, s.begun, 1, "no attempt without its branch")
	require.Zero(t, s.last().Retries, "a limit is no failure of the task")
}

func TestRateLimit_BeforeThePullRequestSuspendsTheTaskWithItsWork(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.succeeds()
	s.fail[contract.OpenPullRequest] = []error{limit(s.now().Add(time.Hour))}
	result, err := s.run()
	require.NoError(t, err)
	require.Equal(t, task.StatusCompleted, result.Status)
	require.Equal(t, task.ClassPublish, s.suspended().Class, "a run that is loaded meanwhile publishes as well")
	require.Equal(t, task.StatusPending, s.suspended().Status)
	require.Len(t, s.begun, 1, "the work is not done again")
	require.Equal(t, 1, s.count(contract.CollectWork))
	require.Equal(t, 2, s.count(contract.OpenPullRequest))
}

func TestCancelWhileSuspendedBeforeThePullRequest(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.succeeds()
	s.fail[contract.OpenPullRequest] = []error{limit(s.now().Add(time.Hour))}
	s.after(30*time.Minute, func() { s.command(contract.CommandCancel, "c", "enough") })
	_, err := s.run()
	require.True(t, temporal.IsCanceledError(err))
	require.Equal(t, 1, s.count(contract.OpenPullRequest))
}

func TestRateLimit_BeforeThePushKeepsTheSandbox(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.succeeds()
	s.fail[contract.CollectWork] = []error{limit(s.now().Add(time.Hour)), limit(s.now().Add(2 * time.Hour))}
	_, err := s.run()
	require.NoError(t, err)
	require.Equal(t, 3, s.count(contract.CollectWork))
	require.Len(t, s.begun, 1)
	for _, p := range s.projects {
		require.Empty(t, p.Blocked, "the work is in the sandbox: nothing is given back")
	}
}

func TestRateLimit_BeyondTheMaximumDurationEndsTheTask(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.succeeds()
	s.fail[contract.CollectWork] = []error{limit(s.now().Add(5 * time.Hour))}
	_, err := s.run()
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	require.True(t, ok)
	require.Equal(t, string(task.ClassPublish), app.Type())
	require.Len(t, s.cleaned, 1)
}

func TestCancelWhileThePushWaits(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.succeeds()
	s.fail[contract.CollectWork] = []error{limit(s.now().Add(time.Hour))}
	s.after(30*time.Minute, func() { s.command(contract.CommandCancel, "c", "enough") })
	_, err := s.run()
	require.True(t, temporal.IsCanceledError(err))
	require.Equal(t, 1, s.count(contract.CollectWork))
}

func TestRetry_PublishesSavedWork(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.loaded.PublishOnly, s.loaded.Saved, s.loaded.Branch = true, true, "feature/x"
	_, err := s.run()
	require.NoError(t, err)
	require.Empty(t, s.begun)
	require.Equal(t, []int{1, 1}, []int{s.count(contract.PublishBranch), s.count(contract.OpenPullRequest)})
}

func TestRetry_RepeatsOutdatedSavedWork(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.succeeds()
	s.loaded.PublishOnly, s.loaded.Saved, s.loaded.Branch, s.loaded.State.Attempts = true, true, "feature/x", 1
	s.fail[contract.PublishBranch] = []error{redo()}
	result, err := s.run()
	require.NoError(t, err)
	require.Equal(t, task.StatusCompleted, result.Status)
	require.Len(t, s.begun, 1)
	require.Equal(t, "retry", s.begun[0].Kind)
	require.Equal(t, "error-9", s.begun[0].FeedbackID, "the agent gets the reason")
	require.Equal(t, 1, s.count(contract.EnsureBranch), "a person may have deleted it")
	require.Equal(t, []int{1, 1}, []int{s.count(contract.PublishBranch), s.count(contract.OpenPullRequest)})
}

func playBranchLimit(tr *serverFixture) {
	tr.succeeds()
	tr.fail[contract.EnsureBranch] = []error{limit(tr.now().Add(time.Second))}
	require.NoError(tr.t, tr.play())
	require.Equal(tr.t, 2, tr.count(contract.EnsureBranch))
}

func playPullLimit(tr *serverFixture) {
	tr.succeeds()
	tr.fail[contract.OpenPullRequest] = []error{limit(tr.now().Add(3 * time.Second))}
	require.NoError(tr.t, tr.play())
	require.Len(tr.t, tr.begun, 1)
}

func playPushLimit(tr *serverFixture) {
	tr.succeeds()
	tr.fail[contract.CollectWork] = []error{limit(tr.now().Add(3 * time.Second))}
	require.NoError(tr.t, tr.play())
	require.Len(tr.t, tr.begun, 1)
}

func playSavedWorkPublished(tr *serverFixture) {
	tr.loaded.PublishOnly, tr.loaded.Saved = true, true
	require.NoError(tr.t, tr.play())
	require.Empty(tr.t, tr.begun)
}

func playSavedWorkRepeated(tr *serverFixture) {
	tr.succeeds()
	tr.loaded.PublishOnly, tr.loaded.Saved, tr.loaded.State.Attempts = true, true, 1
	tr.fail[contract.PublishBranch] = []error{redo()}
	require.NoError(tr.t, tr.play())
	require.Len(tr.t, tr.begun, 1)
}
