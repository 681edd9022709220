package localgit_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

func (b *bench) refNames(prefix string) string {
	b.t.Helper()
	return git(b.t, b.path, "for-each-ref", "--format=%(refname)", prefix)
}

// Only a branch that omoi recorded, and that has no commit of its own, is removed; a retry gets it back.
func TestRemoveEmptyBranch(t *testing.T) {
	t.Parallel()
	b, ctx := setup(t), t.Context()
	empty, worked := b.ensure("empty"), b.ensure("worked")
	git(t, b.path, "branch", "feature/own")
	dir := b.sandbox(worked.Name)
	b.commit(dir, "work.txt", "work\n")
	git(t, dir, "push", "--quiet", b.path, "HEAD:refs/heads/"+worked.Name)
	git(t, b.path, "worktree", "add", "--quiet", filepath.Join(realTemp(t), "w"), empty.Name)
	require.Equal(t, task.CodeConflict, task.CodeOf(b.host.RemoveEmptyBranch(ctx, b.repo, "empty")), "it is checked out")
	worktree := git(t, b.path, "worktree", "list", "--porcelain")
	require.Contains(t, worktree, empty.Name)
	require.NoError(t, os.RemoveAll(filepath.Join(b.path, ".git", "worktrees")))
	for range 2 {
		for _, id := range []string{"empty", "worked", "unknown"} {
			require.NoError(t, b.host.RemoveEmptyBranch(ctx, b.repo, id), id)
		}
	}
	require.Empty(t, b.refNames("refs/heads/"+empty.Name))
	require.NotEmpty(t, b.refNames("refs/heads/"+worked.Name))
	require.NotEmpty(t, b.refNames("refs/heads/feature/own"))
	require.Equal(t, empty, b.ensure("empty"), "a retry has its branch again")
}

// The refs of a task go, and nobody else's.
func TestRemoveRefs(t *testing.T) {
	t.Parallel()
	b, ctx := setup(t), t.Context()
	first, second := b.ensure("first"), b.ensure("second")
	for _, id := range []string{"first", "second"} {
		git(t, b.path, "update-ref", "refs/omoi/rescue/"+id+"/1", "HEAD")
	}
	git(t, b.path, "update-ref", "refs/omoi/tasks/third/"+second.Name, "HEAD") // a follow-up on its branch
	for range 2 {
		require.NoError(t, b.host.RemoveRefs(ctx, b.repo, "first"))
	}
	require.NoError(t, b.host.RemoveRefs(ctx, b.repo, "second"))
	require.Equal(t, "refs/omoi/heads/"+second.Name+"\nrefs/omoi/tasks/third/"+second.Name, b.refNames("refs/omoi"))
	require.NotEmpty(t, b.refNames("refs/heads/"+first.Name), "branches stay")
}
