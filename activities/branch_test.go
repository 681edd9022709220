package activities_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestEnsureBranch_TwiceCreatesOneBranch(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.store.work.Branch, b.store.work.Base, b.git.branches = "", "", map[string]string{}
	b.git.loseAnswerOf("branch")
	in := contract.BranchInput{TaskID: taskID}
	_, err := do[contract.BranchResult](b, b.activities().EnsureBranch, in)
	app, _ := refused(t, err)
	require.False(t, app.NonRetryable())
	out, err := do[contract.BranchResult](b, b.activities().EnsureBranch, in)
	require.NoError(t, err)
	require.Equal(t, contract.BranchResult{Branch: "feature/APP-12-1", Base: "base0"}, out)
	require.Len(t, b.git.branches, 1)
}

func TestEnsureBranch_KeepsItsBaseCommit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.store.work.Base = "older"
	out, err := do[contract.BranchResult](b, b.activities().EnsureBranch, contract.BranchInput{TaskID: taskID})
	require.NoError(t, err)
	require.Equal(t, "older", out.Base)
}

// The commits of earlier tasks on the same branch are not the work of a follow-up task.
func TestEnsureBranch_FollowUpTaskStartsAtTheHead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.store.work.Base = ""
	out, err := do[contract.BranchResult](b, b.activities().EnsureBranch, contract.BranchInput{TaskID: taskID})
	require.NoError(t, err)
	require.Equal(t, contract.BranchResult{Branch: b.store.work.Branch, Base: "head0"}, out)
}

func TestTaskWithoutRepository_HasNoBranchAndNoPullRequest(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.store.work.Repo = ""
	branch, err := do[contract.BranchResult](b, b.activities().EnsureBranch, contract.BranchInput{TaskID: taskID})
	require.NoError(t, err)
	require.Zero(t, branch)
	pull, err := do[contract.PullResult](b, b.activities().OpenPullRequest, contract.PullInput{TaskID: taskID})
	require.NoError(t, err)
	require.Zero(t, pull)
	require.Empty(t, b.git.calls)
}

func TestEnsureBranch_OfAnUnusableRepository(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.git.checkErr = task.Invalid("repo", "The repository is empty: commit something first.")
	_, err := do[contract.BranchResult](b, b.activities().EnsureBranch, contract.BranchInput{TaskID: taskID})
	app, _ := refused(t, err)
	require.Equal(t, string(task.ClassInvalidInput), app.Type())
	require.True(t, app.NonRetryable())
	require.Contains(t, app.Message(), "commit something first")
	require.Empty(t, b.git.calls, "nothing half-made")
}

func TestOpenPullRequest_TwiceOpensOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.git.loseAnswerOf("pull")
	in := contract.PullInput{TaskID: taskID}
	_, err := do[contract.PullResult](b, b.activities().OpenPullRequest, in)
	app, _ := refused(t, err)
	require.Equal(t, string(task.ClassPublish), app.Type())
	require.False(t, app.NonRetryable())
	out, err := do[contract.PullResult](b, b.activities().OpenPullRequest, in)
	require.NoError(t, err)
	require.Equal(t, contract.PullResult{Number: 1, URL: "local://pull/1"}, out)
	require.Len(t, b.git.pulls, 1)
	pull := b.git.pulls[0]
	require.Equal(t, "[APP-12] Compute it", pull.Title)
	require.Equal(t, "feature/tick-1", pull.Head)
	require.Equal(t, "main", pull.Base)
	require.Equal(t, "main", b.git.aheadOf)
	require.Contains(t, pull.Body, "C(50,25)")
	require.Contains(t, pull.Body, taskID)
}

func TestOpenPullRequest_WithoutCommitsOpensNone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.git.ahead = 0
	out, err := do[contract.PullResult](b, b.activities().OpenPullRequest, contract.PullInput{TaskID: taskID})
	require.NoError(t, err)
	require.Zero(t, out)
	require.Empty(t, b.git.pulls)
}

func TestPullRequest_HoldsNoSecret(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.store.work.Title, b.store.work.Description = "use ghp_0123456789abcdef\nnow", "with sk-0123456789"
	_, err := do[contract.PullResult](b, b.activities().OpenPullRequest, contract.PullInput{TaskID: taskID})
	require.NoError(t, err)
	require.Equal(t, "[APP-12] use [removed] now", b.git.pulls[0].Title)
	require.NotContains(t, b.git.pulls[0].Body, "sk-")
}

// A credential that the Git host refuses has its own failure class, also at publish.
func TestPublish_RefusedCredentialHasItsOwnClass(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.git.aheadErr = task.Errorf(task.CodeForbidden, "GitHub refused the token.")
	_, err := do[contract.PullResult](b, b.activities().OpenPullRequest, contract.PullInput{TaskID: taskID})
	app, _ := refused(t, err)
	require.True(t, app.NonRetryable())
	require.Equal(t, string(task.ClassCredentials), app.Type())
}
