package localgit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestSavedWorkIsPublishedLater(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch := b.ensure("t1")
	work := b.sandbox(branch.Name)
	commit := b.commit(work, "agent.txt", "agent")
	git(t, work, "update-ref", "refs/omoi/rescue", b.commit(work, "half.txt", "not committed"))
	ref, err := b.host.Rescue(t.Context(), b.repo, "t1/1", b.bundle(work, branch.Base+"..refs/omoi/rescue"))
	require.NoError(t, err)

	git(t, b.path, "switch", "--quiet", branch.Name)
	_, err = b.host.Promote(t.Context(), b.repo, branch.Name, ref, commit)
	requireCode(t, task.CodeConflict, err)
	require.NotErrorIs(t, err, scm.ErrMoved, "a branch that is checked out is left at some time")
	git(t, b.path, "switch", "--quiet", "--detach")
	for range 2 {
		head, err := b.host.Promote(t.Context(), b.repo, branch.Name, ref, commit)
		require.NoError(t, err)
		require.Equal(t, commit, head)
	}
	require.Equal(t, commit, b.head(branch.Name))
	require.Equal(t, commit, git(t, b.path, "rev-parse", "refs/omoi/heads/"+branch.Name))
}

func TestSavedWorkDoesNotReplaceAnothers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch := b.ensure("t1")
	work, other := b.sandbox(branch.Name), b.sandbox(branch.Name)
	commit := b.commit(work, "agent.txt", "agent")
	ref, err := b.host.Rescue(t.Context(), b.repo, "t1/1", b.bundle(work, branch.Name))
	require.NoError(t, err)
	theirs := b.commit(other, "agent.txt", "person")
	for _, c := range [][2]string{
		{"refs/omoi/rescue/t1/9", commit}, {"refs/heads/main", commit}, {ref, theirs}, {ref, "HEAD"}, {ref, branch.Base[:12]},
	} {
		_, err := b.host.Promote(t.Context(), b.repo, branch.Name, c[0], c[1])
		require.ErrorIs(t, err, scm.ErrMoved, c)
	}
	_, err = b.host.Push(t.Context(), b.repo, branch.Name, b.bundle(other, branch.Name))
	require.NoError(t, err)
	_, err = b.host.Promote(t.Context(), b.repo, branch.Name, ref, commit)
	require.ErrorIs(t, err, scm.ErrMoved)
	requireCode(t, task.CodeConflict, err)
	require.Equal(t, theirs, b.head(branch.Name))
}
