package checkpoints_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRestore_ManyBranches(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	for n := range 30 {
		r.git(r.work, "checkout", "-q", "-b", fmt.Sprintf("b%d", n), branch)
		r.git(r.work, "commit", "-q", "--allow-empty", "-m", strconv.Itoa(n))
	}
	r.git(r.work, "checkout", "-q", branch)
	r.keep(r.open())
	work, _ := r.restored()
	require.Equal(t, r.git(r.work, "for-each-ref", "refs/heads"), r.git(work, "for-each-ref", "refs/heads"))
}

func TestRestore_TheBranchOfTheHeadAmongVeryMany(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	for n := range 110 { // in order before the task's branch
		r.put(r.work, fmt.Sprintf(".git/refs/heads/b%d", n), r.git(r.work, "rev-parse", "HEAD")+"\n")
	}
	r.git(r.work, "commit", "-q", "--allow-empty", "-m", "own")
	r.put(r.work, "changed.txt", "two\n")
	r.git(r.work, "stash")
	r.keep(r.open())
	work, from := r.restored()
	kept := []string{"rev-parse", "HEAD", branch, "b0", "refs/stash"}
	require.Equal(t, r.git(r.work, kept...), r.git(work, kept...))
	require.Equal(t, []string{"The checkpoint lacks 10 of 111 branches: it has the first 100 by name, and that of the head"}, from.From.LeftOut)
}

func TestRestore_LeavesOutRefsThatAreNoCommits(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, format)
			r.t = t
			r.git(r.work, "checkout", "-q", "-b", "side")
			r.git(r.work, "commit", "-q", "--allow-empty", "-m", "own")
			r.git(r.work, "branch", "twice")
			side := r.git(r.work, "rev-parse", "side")
			r.put(r.work, ".git/refs/heads/tree", r.git(r.work, "rev-parse", "HEAD^{tree}")+"\n")
			r.put(r.work, ".git/refs/heads/missing", fmt.Sprintf("%0*d\n", len(side), 7))
			r.git(r.work, "tag", "-a", "-m", "t", "tag")
			r.put(r.work, ".git/refs/stash", r.git(r.work, "rev-parse", "tag")+"\n")
			r.put(r.work, "a.txt", "1\n")
			r.keep(r.open())
			require.Empty(t, r.agent.failures)
			require.Len(t, r.server.Checkpoints()[1].LeftOut, 3)
			work, _ := r.restored()
			require.Equal(t, digest(t, r.work), digest(t, work))
			for _, name := range []string{"side", "twice"} {
				require.Equal(t, side, r.git(work, "rev-parse", name))
			}
		})
	}
}
