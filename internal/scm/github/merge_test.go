package github_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/scm/github"
	"github.com/omoi-dev/omoi/internal/task"
	githubtest "github.com/omoi-dev/omoi/internal/testkit/github"
)

func (b *bench) merge(number int) (github.Merged, error) {
	return b.host.Merge(b.t.Context(), repo, github.MergeRequest{Number: number, Ticket: "ticket", Method: "squash", DeleteBranch: true})
}

func TestMerge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch, _ := b.work("t1")
	b.pull(branch.Name, "")
	b.server.Mergeable(string(repo), 1, 1, false, "") // GitHub does not know yet
	for range 2 {                                     // the second call repeats a merge whose answer was lost
		done, err := b.merge(1)
		require.NoError(t, err)
		require.Equal(t, b.head("main"), done.Commit)
		require.Empty(t, done.Reason)
	}
	require.Empty(t, b.branches())
	require.Contains(t, git(t, b.bare, "log", "-1", "--format=%s", "main"), "[ticket] Merge PR #1")
	_, err := b.merge(7)
	requireCode(t, task.CodeNotFound, err)
}

// TestMerge_KeepsBranchWithNewerCommits repeats a merge after a push to the branch.
func TestMerge_KeepsBranchWithNewerCommits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch, _ := b.work("t1")
	b.pull(branch.Name, "")
	_, err := b.host.Merge(t.Context(), repo, github.MergeRequest{Number: 1, Method: "squash"})
	require.NoError(t, err)
	dir := b.sandbox(branch.Name)
	head := b.commit(dir, "more.txt", "more")
	_, err = b.host.Push(t.Context(), repo, branch.Name, b.bundle(dir, branch.Name))
	require.NoError(t, err)
	done, err := b.merge(1)
	require.NoError(t, err)
	require.Contains(t, done.Reason, "not merged")
	require.Equal(t, head, b.head("refs/heads/"+branch.Name))
}

// conflicting creates a branch that conflicts with main.
func (b *bench) conflicting() string {
	b.t.Helper()
	branch := b.ensure("t1")
	dir := b.sandbox(branch.Name)
	b.commit(dir, "same.txt", "agent\n")
	_, err := b.host.Push(b.t.Context(), repo, branch.Name, b.bundle(dir, branch.Name))
	require.NoError(b.t, err)
	person := b.person("main")
	b.commit(person, "same.txt", "person\n")
	git(b.t, person, "push", "--quiet", "origin", "main")
	return branch.Name
}

func TestMerge_Conflict(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch := b.conflicting()
	b.pull(branch, "")
	for _, c := range []struct {
		computing int
		stale     bool
		// GitHub knows the conflict; GitHub is computing and answers 405; GitHub's state is out of date and GitHub answers
		// 405.
	}{{0, false}, {1, false}, {0, true}} {
		b.server.Mergeable(string(repo), 1, c.computing, c.stale, "")
		done, err := b.merge(1)
		require.NoError(t, err)
		require.True(t, done.Conflict)
		require.Contains(t, done.Reason, "has conflicts with main")
	}
	b.server.Mergeable(string(repo), 1, 1, false, "") // as after each push, the first answer is null
	status, err := b.host.Status(t.Context(), repo, branch)
	require.NoError(t, err)
	require.Equal(t, github.Distance{Ahead: 1, Behind: 1, Conflict: true}, status)
	b.leavesNothing()
}

func TestMerge_RefusedByRule(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch, _ := b.work("t1")
	b.pull(branch.Name, "")
	b.server.Mergeable(string(repo), 1, 0, false, "At least 1 approving review is required by reviewers with write access.")
	done, err := b.merge(1)
	requireCode(t, task.CodeConflict, err)
	require.False(t, done.Conflict)
	require.Contains(t, task.MessageOf(err), "approving review")
}

func TestMerge_BranchMoved(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch, _ := b.work("t1")
	b.pull(branch.Name, "")
	b.server.Break(githubtest.Fault{Call: "PUT pulls/1/merge", Status: 409, Message: "Head branch was modified. Review and try the merge again."})
	done, err := b.merge(1)
	require.NoError(t, err)
	require.True(t, done.Conflict, "GitHub's 409 is told as it was meant")
}

func TestStatus_NoConflict(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch, _ := b.work("t1")
	person := b.person("main")
	b.commit(person, "other.txt", "person\n")
	git(t, person, "push", "--quiet", "origin", "main")
	status, err := b.host.Status(t.Context(), repo, branch.Name)
	require.NoError(t, err)
	require.Equal(t, github.Distance{Ahead: 1, Behind: 1}, status)
}
