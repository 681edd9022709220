package github_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRemoveEmptyBranch removes a recorded branch without commits of its own; a retry gets the branch back.
func TestRemoveEmptyBranch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	empty := b.ensure("empty")
	worked, _ := b.work("worked")
	git(t, b.bare, "branch", "feature/own", "main")
	for range 2 {
		for _, id := range []string{"empty", "worked", "unknown"} {
			require.NoError(t, b.host.RemoveEmptyBranch(t.Context(), repo, id), id)
		}
	}
	require.ElementsMatch(t, []string{worked.Name, "feature/own"}, b.branches())
	require.Equal(t, empty, b.ensure("empty"))
}

// TestRemoveEmptyBranch_KeepsOneThatMoves moves the branch between the read of its commit and its deletion.
func TestRemoveEmptyBranch_KeepsOneThatMoves(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch := b.ensure("t1")
	person := b.person(branch.Name)
	head := b.commit(person, "work.txt", "work\n")
	looked, move := false, sync.OnceFunc(func() { git(t, person, "push", "--quiet", "origin", branch.Name) })
	b.server.Watch(func(call string) {
		if looked {
			move()
		}
		looked = looked || strings.HasPrefix(call, "GET ") && strings.Contains(call, branch.Name)
	})
	require.NoError(t, b.host.RemoveEmptyBranch(t.Context(), repo, "t1"))
	require.Equal(t, head, b.head(branch.Name))
}

// TestRemoveRefs removes the refs of one task; branches stay.
func TestRemoveRefs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, second := b.ensure("first"), b.ensure("second")
	git(t, b.bare, "update-ref", "refs/omoi/rescue/first/1", "main")
	for range 2 {
		require.NoError(t, b.host.RemoveRefs(t.Context(), repo, "first"))
	}
	refs := git(t, b.bare, "for-each-ref", "--format=%(refname)", "refs/omoi")
	require.NotContains(t, refs, "first")
	require.Contains(t, refs, "refs/omoi/tasks/ticket/second/"+second.Name)
	require.ElementsMatch(t, []string{first.Name, second.Name}, b.branches())
}

// TestRemoveRefs_KeepsOneThatMoves moves the ref between the read of its commit and its deletion.
func TestRemoveRefs_KeepsOneThatMoves(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch, _ := b.work("t1")
	const rescue = "refs/omoi/rescue/t1/1"
	git(t, b.bare, "update-ref", rescue, "main")
	looked, move := false, sync.OnceFunc(func() { git(t, b.bare, "update-ref", rescue, branch.Name) })
	b.server.Watch(func(call string) {
		if looked {
			move()
		}
		looked = looked || strings.HasPrefix(call, "GET ") && strings.Contains(call, "rescue/t1")
	})
	require.NoError(t, b.host.RemoveRefs(t.Context(), repo, "t1"))
	require.Equal(t, rescue, git(t, b.bare, "for-each-ref", "--format=%(refname)", "refs/omoi"))
}
