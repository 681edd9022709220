package checkpoints_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/checkpoints"
	agenttest "github.com/omoi-dev/omoi/internal/testkit/agent"
)

// change makes changes of all kinds in a workspace.
func (r *rig) change() {
	r.t.Helper()
	r.put(r.work, "changed.txt", "two\n")
	r.put(r.work, "new file \"ä\n.txt", "new\n")
	r.put(r.work, "crlf.txt", "a\r\nb\r\n")
	r.put(r.work, "utf16.txt", "\xff\xfea\x00")
	r.put(r.work, ".gitattributes", "*.txt text=auto eol=lf ident\nutf16.txt working-tree-encoding=UTF-16\n")
	r.put(r.work, ".gitignore", "*.log\n")
	r.put(r.work, "noise.log", "ignored\n")
	r.put(r.work, "run.sh", "#!/bin/sh\n")
	require.NoError(r.t, os.Chmod(filepath.Join(r.work, "run.sh"), 0o755))
	_ = os.Remove(filepath.Join(r.work, "deleted.txt"))
	_ = os.Remove(filepath.Join(r.work, "link"))
	require.NoError(r.t, os.Symlink("../outside", filepath.Join(r.work, "link")))
	if _, err := os.Stat(filepath.Join(r.work, "sub")); err == nil {
		require.NoError(r.t, os.RemoveAll(filepath.Join(r.work, "sub")))
		r.put(r.work, "sub", "a file now\n")
	}
}

func TestRestore_FilesAreEqualByteForByte(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256", ""} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, format)
			k := r.open()
			r.keep(k)
			r.change()
			r.keep(k)
			r.put(r.work, "late.txt", "late\n")
			r.keep(k)
			require.Len(t, r.server.Checkpoints(), 3)
			require.Equal(t, []int{0, 1, 2}, []int{r.server.Checkpoints()[1].Base, r.server.Checkpoints()[2].Base, r.server.Checkpoints()[3].Base})

			work, from := r.restored()
			require.Equal(t, "1.3", from.From.ID)
			require.Equal(t, digest(t, r.work), digest(t, work))
			require.False(t, from.From.Torn)
			require.NoFileExists(t, filepath.Join(work, "noise.log"))
		})
	}
}

func TestRestore_GitStateIsEqual(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	r.git(r.work, "checkout", "-q", "-b", "side")
	r.put(r.work, "side.txt", "side\n")
	r.git(r.work, "add", ".")
	r.git(r.work, "commit", "-qm", "side")
	r.git(r.work, "checkout", "-q", branch)
	r.put(r.work, "own.txt", "own\n")
	r.git(r.work, "add", ".")
	r.git(r.work, "commit", "-qm", "own")
	r.put(r.work, "changed.txt", "stashed\n")
	r.git(r.work, "stash", "-q")
	r.put(r.work, "changed.txt", "staged\n")
	r.git(r.work, "add", "changed.txt")
	r.put(r.work, "changed.txt", "unstaged\n")
	r.put(r.work, "untracked.txt", "untracked\n")
	r.keep(r.open())

	work, _ := r.restored()
	for _, ask := range [][]string{
		{"status", "--porcelain=v2", "--branch", "--untracked-files=all"},
		{"log", "--all", "--format=%H %D"},
		{"stash", "list", "--format=%gs"},
		{"diff", "--cached"},
		{"diff"},
	} {
		if ask[0] == "stash" {
			require.Equal(t, r.git(r.work, "rev-parse", "refs/stash"), r.git(work, "rev-parse", "refs/stash"))
			continue
		}
		require.Equal(t, r.git(r.work, ask...), r.git(work, ask...), ask)
	}
}

func TestRestore_UnfinishedMergeContinues(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	r.git(r.work, "checkout", "-q", "-b", "side")
	r.put(r.work, "changed.txt", "theirs\n")
	r.git(r.work, "commit", "-qam", "side")
	r.git(r.work, "checkout", "-q", branch)
	r.put(r.work, "changed.txt", "ours\n")
	r.git(r.work, "commit", "-qam", "own")
	r.gitFails("merge", "side")
	r.put(r.work, "staged.txt", "in no tree\n")
	r.git(r.work, "add", "staged.txt")
	r.keep(r.open())

	work, from := r.restored()
	require.True(t, from.From.GitState)
	require.Equal(t, r.git(r.work, "status", "--porcelain"), r.git(work, "status", "--porcelain"))
	require.Equal(t, r.git(r.work, "ls-files", "--stage"), r.git(work, "ls-files", "--stage"))
	r.put(work, "changed.txt", "both\n")
	r.git(work, "add", "changed.txt")
	r.git(work, "commit", "-qm", "merged")
	require.Equal(t, r.git(work, "rev-parse", "side"), r.git(work, "rev-parse", "HEAD^2"))
}

func TestRestore_UnfinishedRebaseContinues(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	r.git(r.work, "checkout", "-q", "-b", "side")
	r.put(r.work, "changed.txt", "theirs\n")
	r.git(r.work, "commit", "-qam", "side")
	r.git(r.work, "checkout", "-q", branch)
	r.put(r.work, "changed.txt", "ours\n")
	r.git(r.work, "commit", "-qam", "own")
	r.gitFails("rebase", "side")
	r.keep(r.open())

	work, _ := r.restored()
	r.put(work, "changed.txt", "both\n")
	r.git(work, "add", "changed.txt")
	r.git(work, "rebase", "--continue")
	require.Equal(t, branch, r.git(work, "branch", "--show-current"))
	require.Equal(t, r.git(work, "rev-parse", "side"), r.git(work, "rev-parse", "HEAD^"))
}

// TestRestore_ConflictsWithoutAnOperation restores conflicts of which no state file of Git tells.
func TestRestore_ConflictsWithoutAnOperation(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	r.put(r.work, "changed.txt", "stashed\n")
	r.git(r.work, "stash", "-q")
	r.put(r.work, "changed.txt", "committed\n")
	r.git(r.work, "commit", "-qam", "own")
	r.gitFails("stash", "pop")
	r.put(r.work, "staged.txt", "staged\n")
	r.git(r.work, "add", "staged.txt")
	k := r.open()
	r.keep(k)

	work, from := r.restored()
	require.True(t, from.From.GitState)
	require.Empty(t, from.From.LeftOut)
	require.Contains(t, r.git(work, "status", "--porcelain"), "UU changed.txt")
	require.Equal(t, r.git(r.work, "status", "--porcelain"), r.git(work, "status", "--porcelain"))
	require.Equal(t, r.git(r.work, "ls-files", "--stage"), r.git(work, "ls-files", "--stage"))

	r.git(r.work, "add", "changed.txt") // resolved
	r.keep(k)
	work, from = r.restored()
	require.Equal(t, []bool{true, false}, []bool{from.From.Index, from.From.GitState})
	require.Equal(t, r.git(r.work, "status", "--porcelain"), r.git(work, "status", "--porcelain"))
}

func TestKeep_NothingNewIsNotSent(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	k := r.open()
	r.keep(k)
	r.keep(k)
	require.Len(t, r.server.Checkpoints(), 1)
	r.agent.sent = 100
	r.keep(k)
	got := r.server.Checkpoints()
	require.Len(t, got, 2)
	require.Zero(t, got[2].PackBytes, "the transcript alone has grown")
	require.EqualValues(t, 100, got[2].Transcript)
	_, from := r.restored()
	require.Equal(t, "1.2", from.From.ID)
}

func TestKeep_TheSessionEndsWithTheLastCompletedCall(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	k := r.open()
	r.agent.sent, r.agent.call, r.agent.results = 100, "one", map[string]int64{"one": 120, "two": 1060}
	r.agent.running = "Bash"
	r.put(r.work, "a.txt", "by a call\n")
	r.keep(k)
	got := r.server.Checkpoints()[1]
	require.EqualValues(t, 120, got.Transcript, "its result was not in the file at first")
	require.Equal(t, []string{"one", "Bash"}, []string{got.ToolCall, got.RunningCall})
	require.EqualValues(t, 1100, r.agent.sent)

	r.agent.call = "two"
	r.put(r.work, "a.txt", "by another call\n")
	r.keep(k)
	require.EqualValues(t, 1100, r.server.Checkpoints()[2].Transcript, "sent before the files were read")
	r.put(r.work, "a.txt", "by a program in the background\n")
	r.keep(k)
	require.EqualValues(t, 2100, r.server.Checkpoints()[3].Transcript)
}

func TestKeep_ARestartedAgentContinuesTheSegment(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	r.keep(r.open())
	r.put(r.work, "a.txt", "a\n")
	r.git(r.work, "push", "-q", "origin", "HEAD") // the pushed commit is in no bundle of omoi
	r.keep(r.open())
	r.put(r.work, "b.txt", "b\n")
	ctx, kill := context.WithCancel(t.Context())
	requests := 0
	r.server.CheckpointFaultOf = func(int) agenttest.Fault {
		if requests++; requests == 2 { // the seal, after one chunk
			kill()
		}
		return agenttest.Fault{CutAfter: requests == 2}
	}
	require.Error(t, r.open().Keep(ctx), "its answer never came")
	require.Len(t, r.server.Checkpoints(), 3)
	r.server.CheckpointFaultOf = nil
	r.put(r.work, "c.txt", "c\n")
	r.keep(r.open())
	work, from := r.restored()
	require.Equal(t, 2, from.From.Base)
	require.Equal(t, digest(t, r.work), digest(t, work))
}

func TestKeep_AGoneSandboxIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	asked := 0
	r.server.CheckpointFaultOf = func(int) agenttest.Fault { asked++; return agenttest.Fault{Status: 410} }
	k := r.open()
	r.keep(k)
	r.put(r.work, "a.txt", "a\n")
	r.keep(k)
	require.Equal(t, 1, asked)
}

func TestKeep_AnEndedAgentsFilesAreNewerThanItsSession(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	r.agent.sent = 50
	r.keep(r.open())
	r.agent.sent = 0
	r.put(r.work, "after.txt", "written after the session was kept\n")
	r.keep(r.openWith(checkpoints.Config{Ended: true}))
	work, from := r.restored()
	require.True(t, from.From.FilesOnly)
	require.EqualValues(t, 50, from.From.Transcript)
	require.Equal(t, []string{"after.txt"}, from.Newer)
	require.Equal(t, digest(t, r.work), digest(t, work))
}

func TestRestore_ADamagedPackEndsItsSegment(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	k := r.open()
	r.keep(k)
	r.put(r.work, "a.txt", "a\n")
	r.keep(k)
	want := digest(t, r.work)
	r.put(r.work, "b.txt", "b\n")
	r.keep(k)
	r.server.SpoilPack(3, func(pack []byte) []byte { return pack[:len(pack)-1] })
	work, from := r.restored()
	require.Equal(t, "1.2", from.From.ID)
	require.EqualError(t, from.Older, "checkpoint 1.3: its pack is damaged")
	require.Equal(t, want, digest(t, work))

	r.server.SpoilPack(1, func([]byte) []byte { return []byte("rubbish") })
	_, err := checkpoints.Fetch(t.Context(), r.line, t.TempDir(), r.server.Segments())
	require.ErrorContains(t, err, "its pack is damaged")
}

func TestRestore_ABranchThatWentOnIsLeftAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	r.put(r.work, "a.txt", "a\n")
	r.keep(r.open())
	other := r.clone()
	r.put(other, "pushed.txt", "by a user\n")
	r.git(other, "add", ".")
	r.git(other, "commit", "-qm", "pushed")
	r.git(other, "push", "-q", "origin", "HEAD")
	work, dir := r.clone(), t.TempDir()
	from, err := checkpoints.Fetch(t.Context(), r.line, dir, r.server.Segments())
	require.NoError(t, err)
	before := digest(t, work)
	require.ErrorContains(t, from.Commits(t.Context(), dir, work, branch), "has commits that the checkpoint lacks")
	require.Equal(t, before, digest(t, work))
}

// gitFails runs a git command that stops with a conflict.
func (r *rig) gitFails(args ...string) {
	r.t.Helper()
	require.Error(r.t, r.command(args...).Run())
}

func TestRestore_FilesOfTheSetupStepStay(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	r.put(r.work, "new.txt", "new\n")
	r.put(r.work, "changed.txt", "two\n")
	r.keep(r.open())
	work, dir := r.clone(), t.TempDir()
	from, err := checkpoints.Fetch(t.Context(), r.line, dir, r.server.Segments())
	require.NoError(t, err)
	require.NoError(t, from.Commits(t.Context(), dir, work, branch))
	r.put(work, "made.bin", "by the setup step\n")
	r.put(work, "kept.txt", "changed by the setup step\n")
	r.put(work, "new.txt", "in the way\n")
	require.NoError(t, from.Files(t.Context(), dir, work))
	r.put(r.work, "made.bin", "by the setup step\n")
	require.Equal(t, digest(t, r.work), digest(t, work))
}
