package checkpoints_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A task that continues on another branch gets the commits of the checkpoint on that branch.
func TestRestore_OnAnotherBranch(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	r.put(r.work, "own.txt", "own\n")
	r.git(r.work, "add", ".")
	r.git(r.work, "commit", "-qm", "own")
	r.put(r.work, "changed.txt", "changed\n")
	r.keep(r.open())
	r.git(r.work, "push", "-q", "origin", "HEAD")
	r.git(r.origin, "branch", "task-2", branch+"~1")

	r.moved = "task-2"
	work, from := r.restored()
	require.Equal(t, branch, from.Renamed)
	require.Equal(t, "task-2", r.git(work, "branch", "--show-current"))
	require.Equal(t, "task-2", r.git(work, "for-each-ref", "--format=%(refname:short)", "refs/heads"))
	require.Equal(t, r.git(r.work, "rev-parse", "HEAD"), r.git(work, "rev-parse", "HEAD"))
	require.Equal(t, digest(t, r.work), digest(t, work))
}

func TestRestore_ARebaseReturnsToTheOtherBranch(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	r.git(r.origin, "branch", "task-2", branch)
	r.git(r.work, "checkout", "-q", "-b", "side")
	r.put(r.work, "changed.txt", "theirs\n")
	r.git(r.work, "commit", "-qam", "side")
	r.git(r.work, "checkout", "-q", branch)
	r.put(r.work, "changed.txt", "ours\n")
	r.git(r.work, "commit", "-qam", "own")
	r.gitFails("rebase", "side")
	r.keep(r.open())

	r.moved = "task-2"
	work, _ := r.restored()
	r.put(work, "changed.txt", "both\n")
	r.git(work, "add", "changed.txt")
	r.git(work, "rebase", "--continue")
	require.Equal(t, "task-2", r.git(work, "branch", "--show-current"))
	require.Equal(t, r.git(work, "rev-parse", "side"), r.git(work, "rev-parse", "HEAD^"))
}
