package activities_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestEnsureBranch_TwiceCreatesOneBranch(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.store.work.Branch, b.store.work.Base, b.git.branches = "", "", map[string]string{}
	b.git.loseAnswerOf("branch")
	in := contract.EnsureBranchInput{TaskID: taskID}
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
	out, err := do[contract.BranchResult](b, b.activities().EnsureBranch, contract.EnsureBranchInput{TaskID: taskID})
	require.NoError(t, err)
	require.Equal(t, "older", out.Base)
}

// The commits of earlier tasks on the same branch are not the work of a follow-up task.
func TestEnsureBranch_FollowUpTaskStartsAtTheHead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.store.work.Base = ""
	out, err := do[contract.BranchResult](b, b.activities().EnsureBranch, contract.EnsureBranchInput{TaskID: taskID})
	require.NoError(t, err)
	require.Equal(t, contract.BranchResult{Branch: b.store.work.Branch, Base: "head0"}, out)
}

func TestEnsureBranch_OfARewind(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from  checkpoint.Commits
		moves bool
	}{
		"nothing published since the attempt began": {checkpoint.Commits{Head: "later", Branch: "head0"}, false},
		"the checkpoint has what was published":     {checkpoint.Commits{Head: "head0", Branch: "earlier"}, false},
		"the branch has other commits":              {checkpoint.Commits{Head: "later", Branch: "earlier"}, true},
		"a user gave the checkpoint":                {checkpoint.Commits{Head: "later", Branch: "earlier", Given: true}, false},
		"not stored any more":                       {checkpoint.Commits{}, false},
	} {
		b := newBench(t)
		b.store.work.Base, b.store.points = "base0", c.from
		was, in := b.store.work.Branch, contract.EnsureBranchInput{TaskID: taskID, Checkpoint: "1.2"}
		b.git.branches = map[string]string{taskID: was}
		if c.moves {
			b.store.loseAnswerOf("move_branch")
			_, err := do[contract.BranchResult](b, b.activities().EnsureBranch, in)
			require.Error(t, err, name)
		}
		for range 2 {
			out, err := do[contract.BranchResult](b, b.activities().EnsureBranch, in)
			require.NoError(t, err, name)
			require.Equal(t, "base0", out.Base, name)
			require.Equal(t, c.moves, out.Branch != was, name)
			require.Equal(t, b.store.work.Branch, out.Branch, name)
		}
		if !c.moves {
			require.Empty(t, b.store.work.EarlierBranches, name)
			continue
		}
		require.Equal(t, []string{was}, b.store.work.EarlierBranches)
		require.Len(t, b.git.branches, 2, "the lost answer made no third branch")
		require.Equal(t, b.store.work.Branch, b.git.branches[taskID+"-1"])
	}
}

// A branch that a user has checked out is in the way of a rewind only if the rewind continues on this branch.
func TestEnsureBranch_OfARewindWhoseBranchIsCheckedOut(t *testing.T) {
	t.Parallel()
	for _, began := range []string{"earlier", "head0"} {
		b := newBench(t)
		b.store.work.Base, b.store.points = "base0", checkpoint.Commits{Head: "later", Branch: began}
		was := b.store.work.Branch
		b.git.branches, b.git.checkedOut = map[string]string{taskID: was}, was
		out, err := do[contract.BranchResult](b, b.activities().EnsureBranch, contract.EnsureBranchInput{TaskID: taskID, Checkpoint: "1.2"})
		if began == "earlier" {
			require.NoError(t, err)
			require.NotEqual(t, was, out.Branch)
			continue
		}
		app, _ := refused(t, err)
		require.Equal(t, string(task.ClassInvalidInput), app.Type())
		require.Contains(t, app.Message(), "is checked out")
	}
}

func TestEnsureBranch_OfAForkStartsAtItsBase(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.store.work.Branch, b.store.work.Base, b.git.branches = "", "began", map[string]string{}
	out, err := do[contract.BranchResult](b, b.activities().EnsureBranch, contract.EnsureBranchInput{TaskID: taskID})
	require.NoError(t, err)
	require.Equal(t, "began", b.git.requests[0].At)
	require.NotEmpty(t, out.Branch)
}

func TestTaskWithoutRepository_HasNoBranchAndNoPullRequest(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.store.work.Repo = ""
	branch, err := do[contract.BranchResult](b, b.activities().EnsureBranch, contract.EnsureBranchInput{TaskID: taskID})
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
	_, err := do[contract.BranchResult](b, b.activities().EnsureBranch, contract.EnsureBranchInput{TaskID: taskID})
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
