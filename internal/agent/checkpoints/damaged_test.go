package checkpoints_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/checkpoints"
	agenttest "github.com/omoi-dev/omoi/internal/testkit/agent"
)

// side makes a branch of two commits with a file that no other branch has, and returns how to reach its objects.
func (r *rig) side() map[string]string {
	r.t.Helper()
	r.git(r.work, "checkout", "-q", "-b", "side")
	for _, text := range []string{"one of side\n", "two of side\n"} {
		r.put(r.work, "folder/side.txt", text)
		r.git(r.work, "add", ".")
		r.git(r.work, "commit", "-qm", text)
	}
	r.git(r.work, "checkout", "-q", branch)
	ids := map[string]string{}
	for name, of := range map[string]string{"commit": "side", "parent": "side~", "tree": "side:folder", "file": "side:folder/side.txt", "older file": "side~:folder/side.txt"} {
		ids[name] = r.git(r.work, "rev-parse", of)
	}
	return ids
}

// object returns the path of a loose object of the workspace.
func (r *rig) object(id string) string { return filepath.Join(r.work, ".git/objects", id[:2], id[2:]) }

func TestKeep_LeavesOutADamagedBranch(t *testing.T) {
	t.Parallel()
	for _, lost := range []string{"commit", "parent", "tree", "file", "older file", "emptied file"} {
		t.Run(lost, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "sha1")
			ids := r.side()
			r.git(r.work, "branch", "same", "side")
			r.git(r.work, "checkout", "-q", "-b", "other")
			r.git(r.work, "commit", "-q", "--allow-empty", "-m", "other")
			r.git(r.work, "checkout", "-q", branch)
			path := r.object(ids[strings.TrimPrefix(lost, "emptied ")])
			require.NoError(t, os.Remove(path))
			if lost == "emptied file" { // as after a power loss
				require.NoError(t, os.WriteFile(path, nil, 0o444))
			}
			r.put(r.work, "new.txt", "new\n")
			k := r.open()
			r.keep(k)
			r.put(r.work, "new.txt", "newer\n")
			r.keep(k)
			require.Empty(t, r.agent.failures)
			require.Len(t, r.server.Checkpoints(), 2)
			for _, told := range r.agent.events {
				all := r.server.Checkpoints()[told["checkpoint"].(int)].LeftOut
				require.Equal(t, all, told["left_out"])
				require.Len(t, all, 2)
				require.Contains(t, all[0]+all[1], "The checkpoint lacks refs/heads/side")
				require.Contains(t, all[0]+all[1], "The checkpoint lacks refs/heads/same")
			}
			work, _ := r.restored()
			require.Equal(t, digest(t, r.work), digest(t, work))
			require.Equal(t, r.git(r.work, "rev-parse", "other", branch), r.git(work, "rev-parse", "other", branch))
			require.Equal(t, "other\n"+branch, r.git(work, "for-each-ref", "--format=%(refname:short)", "refs/heads"))
		})
	}
}

// TestKeep_LeavesOutABranchThatIsDamagedLater damages a branch that earlier checkpoints have, before the next keyframe.
func TestKeep_LeavesOutABranchThatIsDamagedLater(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	ids := r.side()
	k := r.open()
	r.keep(k)
	require.NoError(t, os.Remove(r.object(ids["file"])))
	for n := range 60 {
		r.put(r.work, "new.txt", strings.Repeat("x", n+1))
		r.keep(k)
	}
	require.Empty(t, r.agent.failures)
	last := r.server.Segments()[0]
	require.NotEqual(t, 1, last[0].Number, "a new keyframe")
	require.Len(t, last[0].LeftOut, 1)
	work, _ := r.restored()
	require.Equal(t, digest(t, r.work), digest(t, work))
}

func TestKeep_LeavesOutADamagedIndex(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	r.put(r.work, "staged.txt", "staged\n")
	r.git(r.work, "add", "staged.txt")
	id := r.git(r.work, "rev-parse", ":staged.txt")
	r.put(r.work, "staged.txt", "changed\n")
	require.NoError(t, os.Remove(r.object(id)))
	r.keep(r.open())
	require.Empty(t, r.agent.failures)
	for _, c := range r.server.Checkpoints() {
		require.False(t, c.Index)
		require.Len(t, c.LeftOut, 1)
		require.Contains(t, c.LeftOut[0], "The checkpoint lacks the Git index")
	}
	work, _ := r.restored()
	require.Equal(t, digest(t, r.work), digest(t, work))
}

func TestKeep_NamesAnIndexThatGitCannotRead(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	r.put(r.work, "staged.txt", "staged\n")
	r.git(r.work, "add", "staged.txt")
	k := r.open()
	r.put(r.work, ".git/index", "no index")
	r.keep(k)
	c := r.server.Checkpoints()[1]
	require.Equal(t, []bool{false, false}, []bool{c.Index, c.GitState})
	require.Len(t, c.LeftOut, 1)
	require.Contains(t, c.LeftOut[0], "The checkpoint lacks the Git index: git write-tree")
}

func TestKeep_SaysThatTheHeadIsDamaged(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	r.put(r.work, "a.txt", "1\n")
	r.git(r.work, "add", ".")
	r.git(r.work, "commit", "-qm", "own")
	r.git(r.work, "branch", "same")
	id := r.git(r.work, "rev-parse", "HEAD:a.txt")
	r.put(r.work, "a.txt", "2\n")
	k := r.open()
	require.NoError(t, os.Remove(r.object(id)))
	require.Error(t, k.Keep(t.Context()))
	require.Equal(t, []any{"unreadable"}, r.agent.failures)
}

func TestRestore_FilesThatGitTakesForHarmful(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		".gitattributes": strings.Repeat("x", 3000) + " text\n",
		".gitmodules":    "[submodule \"x\"]\n\tpath = x\n\turl = -x\n",
	} {
		r := newRig(t, "sha1")
		r.put(r.work, name, content)
		k := r.open()
		r.keep(k)
		r.put(r.work, "later.txt", "later\n")
		r.keep(k)
		work, from := r.restored()
		require.Equal(t, "1.2", from.From.ID)
		require.Equal(t, digest(t, r.work), digest(t, work), name)
	}
}

func TestRestore_AKeyframeThatGitRefusesIsNotTheEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	k := r.open()
	r.keep(k)
	want := digest(t, r.work)
	r.server.CheckpointFaultOf = func(int) agenttest.Fault { return agenttest.Fault{Status: 422} }
	r.put(r.work, "a.txt", "a\n")
	require.Error(t, k.Keep(t.Context()))
	r.server.CheckpointFaultOf = nil
	r.keep(k)
	require.Len(t, r.server.Segments(), 2, "the newest checkpoint is a keyframe")
	number := r.server.Segments()[0][0].Number
	file := r.git(r.work, "hash-object", "-w", "a.txt")
	var forged bytes.Buffer
	cmd := r.command("pack-objects", "--stdout", "-q") // whole, but without the folders of the checkpoint
	cmd.Stdin, cmd.Stdout = strings.NewReader(file+"\n"), &forged
	require.NoError(t, cmd.Run())
	r.server.ForgePack(number, r.server.Checkpoints()[number].Commit, forged.Bytes())

	work, from := r.restored()
	require.Equal(t, "1.1", from.From.ID)
	require.Equal(t, want, digest(t, work))
}

func TestRestore_APackWhoseObjectsReferToMissingOnesIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	k := r.open()
	r.keep(k)
	want := digest(t, r.work)
	r.put(r.work, "a.txt", "a\n")
	r.keep(k)
	commit := r.server.Checkpoints()[2].Commit
	var forged bytes.Buffer
	cmd := r.command("--git-dir="+filepath.Join(r.dir, "checkpoint.git"), "pack-objects", "--stdout", "-q")
	cmd.Stdin, cmd.Stdout = strings.NewReader(commit+"\n"), &forged // without its tree
	require.NoError(t, cmd.Run())
	r.server.ForgePack(2, commit, forged.Bytes())

	work, from := r.restored()
	require.Equal(t, "1.1", from.From.ID)
	require.Equal(t, want, digest(t, work))
}

func TestKeep_NoPackIsSentThatTheAPIWouldReject(t *testing.T) {
	t.Parallel()
	r, rng := newRig(t, "sha1"), rand.New(rand.NewPCG(1, 2))
	r.git(r.work, "checkout", "-q", "-b", "large")
	r.put(r.work, "large.bin", random(rng, 2<<20))
	r.git(r.work, "add", ".")
	r.git(r.work, "commit", "-qm", "large")
	r.git(r.work, "checkout", "-q", branch)
	r.put(r.work, "new.txt", "new\n")
	k := r.openWith(checkpoints.Config{PackBytes: 1 << 20})
	r.keep(k)
	require.Len(t, r.server.Checkpoints(), 1)
	for _, c := range r.server.Checkpoints() {
		require.Len(t, c.LeftOut, 1)
		require.Contains(t, c.LeftOut[0], "The checkpoint lacks refs/heads/large")
	}

	sent := 0
	r.server.CheckpointFaultOf = func(int) agenttest.Fault { sent++; return agenttest.Fault{} }
	r.put(r.work, "more.bin", random(rng, 2<<20))
	require.ErrorContains(t, k.Keep(t.Context()), "the pack is too large")
	require.Equal(t, []any{"too_large"}, r.agent.failures)
	require.Zero(t, sent)
}
