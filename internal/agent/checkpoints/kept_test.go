package checkpoints_test

import (
	"cmp"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/checkpoints"
	agenttest "github.com/omoi-dev/omoi/internal/testkit/agent"
)

// Checkpoints keep the trees of the index and of the refs, which Git is slow to return.

func TestKeep_ReadsAnIndexAgainThatWasWrittenInPlace(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	index, old := filepath.Join(r.work, ".git/index"), time.Now().Add(-time.Hour)
	stage := func(content string) []byte {
		r.put(r.work, "staged.txt", content)
		r.git(r.work, "add", "staged.txt")
		bytes, err := os.ReadFile(index)
		require.NoError(t, err)
		return bytes
	}
	one, two := stage("1\n"), stage("2\n")
	require.Len(t, two, len(one))
	require.NoError(t, os.Chtimes(index, old, old))
	k := r.open()
	r.keep(k)
	require.NoError(t, os.WriteFile(index, one, 0o600)) // as cp -p does
	require.NoError(t, os.Chtimes(index, old, old))
	r.put(r.work, "staged.txt", "3\n")
	r.keep(k)
	work, _ := r.restored()
	require.Equal(t, "1", r.git(work, "show", ":staged.txt"))
}

// churn takes checkpoints of large files until objects of older ones are deleted.
func (r *rig) churn(k *checkpoints.Keeper) {
	r.t.Helper()
	random := rand.NewChaCha8([32]byte{})
	large := make([]byte, 300<<10)
	for range 14 {
		_, _ = random.Read(large)
		r.put(r.work, "large.bin", string(large))
		r.keep(k)
	}
}

func TestKeep_AnIndexThatComesBackIsStoredAgain(t *testing.T) {
	t.Parallel()
	index := func(r *rig) string { return filepath.Join(r.work, ".git/index") }
	for name, hide := range map[string]func(r *rig) (back func()){
		"without a head": func(r *rig) func() {
			r.git(r.work, "symbolic-ref", "HEAD", "refs/heads/unborn")
			return func() { r.git(r.work, "symbolic-ref", "HEAD", "refs/heads/"+branch) }
		},
		"in an unfinished operation": func(r *rig) func() {
			r.git(r.work, "update-ref", "REVERT_HEAD", "HEAD")
			return func() { r.git(r.work, "update-ref", "-d", "REVERT_HEAD") }
		},
		"unreadable": func(r *rig) func() {
			require.NoError(t, os.Rename(index(r), index(r)+".kept"))
			r.put(r.work, ".git/index", "no index")
			return func() { require.NoError(t, os.Rename(index(r)+".kept", index(r))) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "sha1")
			r.t = t
			r.put(r.work, "deep/staged.txt", "staged\n")
			r.git(r.work, "add", "deep")
			r.put(r.work, "deep/staged.txt", "unstaged\n")
			k := r.openWith(checkpoints.Config{PruneBytes: 1})
			r.keep(k)
			back := hide(r)
			r.churn(k)
			back()
			r.keep(k)
			require.Empty(t, r.agent.failures)
			work, _ := r.restored()
			require.Equal(t, "staged", r.git(work, "show", ":deep/staged.txt"))
		})
	}
}

func TestKeep_AFailureForgetsWhatWasKept(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	r.put(r.work, "deep/staged.txt", "staged\n")
	r.git(r.work, "add", "deep")
	r.put(r.work, "deep/staged.txt", "unstaged\n")
	tree := r.git(r.work, "write-tree") // Git writes no second one
	r.server.CheckpointFaultOf = func(int) agenttest.Fault { return agenttest.Fault{Status: 422} }
	k := r.open()
	require.Error(t, k.Keep(t.Context()))
	r.server.CheckpointFaultOf = nil
	require.NoError(t, os.Remove(filepath.Join(r.work, ".git/objects", tree[:2], tree[2:]))) // as git prune does
	r.keep(k)
	work, _ := r.restored()
	require.Equal(t, "staged", r.git(work, "show", ":deep/staged.txt"))
}

// A checkpoint that is ended while git writes leaves the lock of git.
func TestKeep_LocksOfKilledProcessesAreRemoved(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	r.put(r.work, "staged.txt", "staged\n")
	r.git(r.work, "add", "staged.txt")
	r.git(r.work, "branch", "other")
	k := r.open()
	for _, name := range []string{"index.workspace.lock", "index.state.lock"} {
		r.put(r.dir, filepath.Join("checkpoint.git", name), "")
	}
	r.keep(k)
	require.Empty(t, r.server.Checkpoints()[1].LeftOut)
	work, _ := r.restored()
	require.Equal(t, "staged", r.git(work, "show", ":staged.txt"))
	require.Equal(t, r.git(r.work, "for-each-ref", "refs/heads"), r.git(work, "for-each-ref", "refs/heads"))
}

// Git is asked for HEAD and the refs only after a change of their files.
func TestKeep_ReadsRefsAgainThatChanged(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	first := r.git(r.work, "rev-parse", "HEAD")
	r.git(r.work, "commit", "--allow-empty", "-m", "second")
	second, old := r.git(r.work, "rev-parse", "HEAD"), time.Now().Add(-time.Hour)
	k := r.open()
	for _, change := range []func(){
		func() { r.git(r.work, "branch", "other", first) },
		func() { r.git(r.work, "update-ref", "refs/heads/other", second) },
		func() { // as cp -p does
			r.put(r.work, ".git/refs/heads/other", first+"\n")
			require.NoError(t, os.Chtimes(filepath.Join(r.work, ".git/refs/heads/other"), old, old))
		},
		func() { r.git(r.work, "branch", "-m", "other", "deep/er") },
		func() { r.git(r.work, "pack-refs", "--all") },
		func() { r.git(r.work, "branch", "--force", "deep/er", second) },
		func() { r.git(r.work, "pack-refs", "--all") },
		func() { r.git(r.work, "checkout", "deep/er") },
		func() { r.git(r.work, "checkout", "--detach") },
		func() { r.git(r.work, "commit", "--allow-empty", "-m", "third") },
		func() { r.git(r.work, "checkout", branch) },
		func() { r.git(r.work, "branch", "-D", "deep/er") },
	} {
		r.keep(k) // HEAD and refs are kept
		change()
		r.keep(k)
		work, from := r.restored()
		require.Equal(t, r.git(r.work, "for-each-ref", "refs/heads"), r.git(work, "for-each-ref", "refs/heads"))
		head := []string{from.From.Head, cmp.Or(from.From.HeadRef, "HEAD")}
		require.Equal(t, strings.Split(r.git(r.work, "rev-parse", "HEAD", "--symbolic-full-name", "HEAD"), "\n"), head)
	}
}
