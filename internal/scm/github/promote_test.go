package github_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
	githubtest "github.com/omoi-dev/omoi/internal/testkit/github"
)

// rescued creates a protected branch, and rescued work for it: a commit, and uncommitted work on top.
func (b *bench) rescued() (branch scm.Branch, ref, commit string) {
	b.t.Helper()
	branch = b.ensure("t1")
	require.NoError(b.t, b.server.Protect(string(repo), branch.Name))
	dir := b.sandbox(branch.Name)
	commit = b.commit(dir, "agent.txt", "agent")
	_, err := b.host.Push(b.t.Context(), repo, branch.Name, b.bundle(dir, branch.Name))
	requireCode(b.t, task.CodeConflict, err)
	// The push wrote its ref below refs/omoi/heads only.
	git(b.t, b.bare, "update-ref", "refs/omoi/heads/"+branch.Name, branch.Base)
	git(b.t, dir, "update-ref", "refs/omoi/rescue", b.commit(dir, "half.txt", "not committed"))
	ref, err = b.host.Rescue(b.t.Context(), repo, "t1/1", b.bundle(dir, branch.Base+"..refs/omoi/rescue"))
	require.NoError(b.t, err)
	return branch, ref, commit
}

func TestPromote_AfterRulesChange(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch, ref, commit := b.rescued()
	_, err := b.host.Promote(t.Context(), repo, branch.Name, ref, commit)
	requireCode(t, task.CodeConflict, err)
	require.NotErrorIs(t, err, scm.ErrMoved)
	require.Contains(t, task.MessageOf(err), "settings/rules")
	require.NoError(t, b.server.Unprotect(string(repo)))
	b.server.Break(githubtest.Fault{Call: "PATCH git/refs", Lose: true})
	_, err = b.host.Promote(t.Context(), repo, branch.Name, ref, commit)
	requireCode(t, task.CodeUnavailable, err)
	for range 2 {
		head, err := b.host.Promote(t.Context(), repo, branch.Name, ref, commit)
		require.NoError(t, err)
		require.Equal(t, commit, head, "what was not committed stays beside")
	}
	require.Equal(t, commit, b.head("refs/heads/"+branch.Name))
	require.Equal(t, commit, b.head("refs/omoi/heads/"+branch.Name))
	b.leavesNothing()
}

func TestPromote_RestoresDeletedBranch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch, ref, commit := b.rescued()
	git(t, b.bare, "update-ref", "-d", "refs/heads/"+branch.Name)
	head, err := b.host.Promote(t.Context(), repo, branch.Name, ref, commit)
	require.NoError(t, err)
	require.Equal(t, commit, head)
}

// TestPromote_BranchCreatedMeanwhile checks that a branch which another user creates during the call is an error, and
// that the next call starts from it.
func TestPromote_BranchCreatedMeanwhile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch, ref, commit := b.rescued()
	require.NoError(t, b.server.Unprotect(string(repo)))
	git(t, b.bare, "update-ref", "-d", "refs/heads/"+branch.Name)
	var once sync.Once
	b.server.Watch(func(call string) {
		if strings.HasPrefix(call, "POST git/refs") {
			once.Do(func() { git(t, b.bare, "update-ref", "refs/heads/"+branch.Name, branch.Base) })
		}
	})
	_, err := b.host.Promote(t.Context(), repo, branch.Name, ref, commit)
	requireCode(t, task.CodeUnavailable, err)
	head, err := b.host.Promote(t.Context(), repo, branch.Name, ref, commit)
	require.NoError(t, err)
	require.Equal(t, commit, head)
	require.Equal(t, commit, b.head("refs/heads/"+branch.Name))
}

func TestPromote_KeepsCommitsOfOthers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch, ref, commit := b.rescued()
	require.NoError(t, b.server.Unprotect(string(repo)))
	for _, c := range [][2]string{
		{"refs/omoi/rescue/t1/9", commit},                 // no such ref
		{"refs/heads/main", commit},                       // not rescued work
		{ref, "0123456789012345678901234567890123456789"}, // not in the rescued work
	} {
		_, err := b.host.Promote(t.Context(), repo, branch.Name, c[0], c[1])
		require.ErrorIs(t, err, scm.ErrMoved)
	}
	person := b.person(branch.Name)
	theirs := b.commit(person, "person.txt", "person")
	git(t, person, "push", "--quiet", "origin", branch.Name)
	_, err := b.host.Promote(t.Context(), repo, branch.Name, ref, commit)
	require.ErrorIs(t, err, scm.ErrMoved)
	requireCode(t, task.CodeConflict, err)
	require.Contains(t, task.MessageOf(err), "another user pushed")
	require.Equal(t, theirs, b.head("refs/heads/"+branch.Name))
}

// TestPromote_PushMeanwhile checks that a push between the read and the update of the branch is not overwritten.
func TestPromote_PushMeanwhile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch, ref, commit := b.rescued()
	require.NoError(t, b.server.Unprotect(string(repo)))
	b.server.Break(githubtest.Fault{Call: "PATCH git/refs", Status: http.StatusUnprocessableEntity, Message: "Update is not a fast forward"})
	_, err := b.host.Promote(t.Context(), repo, branch.Name, ref, commit)
	require.ErrorIs(t, err, scm.ErrMoved)
}
