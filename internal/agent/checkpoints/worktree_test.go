package checkpoints_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/checkpoints"
	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
	"github.com/omoi-dev/omoi/internal/checkpoint"
	agenttest "github.com/omoi-dev/omoi/internal/testkit/agent"
)

// taken is a new work tree of a user with the newest checkpoint, beside a branch and a stash of the user's own.
type taken struct {
	*rig

	mine, tree, dir string
	from            checkpoint.Checkpoint
	ran             string // file that a program in the workspace would make
}

func (r *rig) take() *taken {
	r.t.Helper()
	w := &taken{rig: r, mine: r.clone(), tree: filepath.Join(r.t.TempDir(), "tree"), ran: filepath.Join(r.t.TempDir(), "ran")}
	for _, c := range r.server.Segments()[0] {
		var pack bytes.Buffer
		_, err := r.line.Fetch(r.t.Context(), "/checkpoints/"+c.ID+"/pack", &pack)
		require.NoError(r.t, err)
		cmd := r.command("index-pack", "--stdin", "--fix-thin", "--strict")
		cmd.Dir, cmd.Stdin = w.mine, &pack
		out, err := cmd.CombinedOutput()
		require.NoError(r.t, err, "%s", out)
		w.from = c
	}
	r.put(w.mine, "private.txt", "mine\n")
	r.git(w.mine, "switch", "-qc", "private")
	r.git(w.mine, "add", ".")
	r.git(w.mine, "commit", "-qm", "private")
	r.put(w.mine, "private.txt", "more\n")
	r.git(w.mine, "stash")
	for name, value := range map[string]string{
		"core.hooksPath": ".husky", "core.fsmonitor": "tools/run", "filter.evil.clean": "tools/run", "filter.evil.smudge": "tools/run", "filter.evil.required": "true",
	} {
		r.git(w.mine, "config", name, value)
	}
	r.git(w.mine, "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "worktree", "add", "-q", "--no-checkout", "-b", "take/1", w.tree, w.from.Head)
	w.dir = filepath.Join(r.git(w.tree, "rev-parse", "--absolute-git-dir"), "omoi")
	require.NoError(r.t, os.MkdirAll(w.dir, 0o700))
	require.NoError(r.t, checkpoints.Place(r.t.Context(), w.dir, w.tree, w.from))
	return w
}

// plain is git in the work tree without the programs of the workspace.
func (w *taken) plain(args ...string) string {
	w.t.Helper()
	return w.git(w.tree, append([]string{"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "filter.evil.clean=cat", "-c", "filter.evil.smudge=cat"}, args...)...)
}

func (w *taken) give(session checkpoints.Transcript) int {
	w.t.Helper()
	number, err := checkpoints.Give(w.t.Context(), checkpoints.Given{
		Dir: w.dir, Work: w.tree, Branch: branch, From: w.from, Newest: slices.Max(slices.Collect(maps.Keys(w.server.Checkpoints()))),
		Line: w.line, Session: session, Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(w.t, err)
	return number
}

// agentWork leaves files, an index and a stash of all kinds, and programs for whichever user uses the workspace.
func (r *rig) agentWork(outside string) {
	r.put(r.work, "stashed.txt", "later\n")
	r.git(r.work, "add", ".")
	r.git(r.work, "stash")
	r.put(r.work, "committed.txt", "committed\n")
	r.git(r.work, "add", ".")
	r.git(r.work, "commit", "-qm", "work")
	r.put(r.work, "changed.txt", "staged\n")
	r.git(r.work, "add", ".")
	r.put(r.work, "changed.txt", "one\r\ntwo\r\n")
	r.put(r.work, "untracked.txt", "new\n")
	require.NoError(r.t, os.Remove(filepath.Join(r.work, "deleted.txt")))
	require.NoError(r.t, os.Symlink(outside, filepath.Join(r.work, "out")))
	r.put(r.work, ".gitattributes", "* text=auto eol=lf filter=evil\n")
	for _, name := range []string{"tools/run", ".husky/post-checkout", ".husky/post-index-change", ".husky/reference-transaction"} {
		r.put(r.work, name, "#!/bin/sh\ntouch "+filepath.Join(outside, "ran")+"\n")
		require.NoError(r.t, os.Chmod(filepath.Join(r.work, name), 0o755))
	}
}

func TestPlace_RestoresFilesAndIndexAndRunsNothing(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		r := newRig(t, format)
		k := r.open()
		outside := t.TempDir()
		r.agentWork(outside)
		r.keep(k)
		w := r.take()
		require.Equal(t, digest(t, r.work), digest(t, w.tree))
		require.Equal(t, r.git(r.work, "diff", "--cached"), w.plain("diff", "--cached"))
		require.Equal(t, w.from.Head, w.plain("rev-parse", "HEAD"))
		entries, err := os.ReadDir(outside)
		require.NoError(t, err)
		require.Empty(t, entries, "a program of the workspace ran, or a link was followed")
	}
}

func TestPlace_LeavesOutAnUnfinishedOperation(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	k := r.open()
	r.git(r.work, "switch", "-qc", "other")
	r.put(r.work, "changed.txt", "theirs\n")
	r.git(r.work, "commit", "-qam", "theirs")
	r.git(r.work, "switch", "-q", branch)
	r.put(r.work, "changed.txt", "ours\n")
	r.git(r.work, "commit", "-qam", "ours")
	merge := r.command("merge", "other")
	require.Error(t, merge.Run())
	r.keep(k)
	w := r.take()
	require.True(t, w.from.GitState)
	require.Equal(t, digest(t, r.work), digest(t, w.tree))
	require.Equal(t, "M changed.txt", strings.TrimSpace(w.plain("status", "--porcelain")), "a change, and no merge")
}

func TestBounded_RefusesACheckpointAboveTheLimits(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	head := r.git(r.work, "rev-parse", "HEAD")
	r.put(r.work, "large", strings.Repeat("\x00", 32<<20+1))
	large, small := r.git(r.work, "hash-object", "-w", "large"), r.git(r.work, "hash-object", "-w", "kept.txt")
	var many strings.Builder
	for n := range 200_001 {
		fmt.Fprintf(&many, "100644 blob %s\t%06d\n", small, n)
	}
	for why, entries := range map[string]string{"too large": "100644 blob " + large + "\tlarge\n", "files": many.String(), "": "100644 blob " + small + "\tsmall\n"} {
		tree := r.command("mktree")
		tree.Stdin = strings.NewReader(entries)
		work, err := tree.Output()
		require.NoError(t, err)
		top := r.command("mktree")
		top.Stdin = strings.NewReader("040000 tree " + strings.TrimSpace(string(work)) + "\twork\n")
		id, err := top.Output()
		require.NoError(t, err)
		commit := r.git(r.work, "commit-tree", strings.TrimSpace(string(id)), "-p", head, "-m", "checkpoint")
		own := r.git(r.work, "commit-tree", strings.TrimSpace(string(work)), "-p", head, "-m", "of the agent")
		for _, from := range []checkpoint.Sealed{{Commit: commit, Head: head}, {Commit: commit}, {Commit: commit, Head: own}} {
			for _, base := range []string{head, "", strings.Repeat("a", len(head))} {
				err = checkpoints.Bounded(t.Context(), gitcmd.Repository(r.work), checkpoint.Checkpoint{Sealed: from}, base)
				if why == "" {
					require.NoError(t, err)
					continue
				}
				require.ErrorContains(t, err, "the checkpoint exceeds the limits", why)
				require.ErrorContains(t, err, why)
			}
		}
	}
}

// The objects of such a tree are few, and Git would hold the names of all its files in memory.
func TestBounded_StopsToReadATreeOfEndlessFiles(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	head := r.git(r.work, "rev-parse", "HEAD")
	entries := "100644 blob " + r.git(r.work, "hash-object", "-w", "kept.txt") + "\tf\n"
	for range 12 {
		tree := r.command("mktree")
		tree.Stdin = strings.NewReader(entries)
		id, err := tree.Output()
		require.NoError(t, err)
		var next strings.Builder
		for name := range 10 {
			fmt.Fprintf(&next, "040000 tree %s\t%d\n", strings.TrimSpace(string(id)), name)
		}
		entries = next.String()
	}
	top := r.command("mktree")
	top.Stdin = strings.NewReader("040000 tree " + strings.Fields(entries)[2] + "\twork\n")
	id, err := top.Output()
	require.NoError(t, err)
	commit := r.git(r.work, "commit-tree", strings.TrimSpace(string(id)), "-p", head, "-m", "checkpoint")
	err = checkpoints.Bounded(t.Context(), gitcmd.Repository(r.work), checkpoint.Checkpoint{Sealed: checkpoint.Sealed{Commit: commit, Head: head}}, head)
	require.ErrorContains(t, err, "too many files")
}

func TestGive_IsTheNextCheckpoint(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	k := r.open()
	r.agentWork(t.TempDir())
	r.keep(k)
	w := r.take()
	r.git(w.mine, "gc", "-q", "--prune=now")
	require.Equal(t, w.from.Number, w.give(nil), "nothing has changed")

	w.plain("add", "untracked.txt")
	w.plain("commit", "-qm", "my commit")
	r.put(w.tree, "mine.txt", "mine\r\n")
	r.put(w.tree, "noise.log", "ignored")
	require.NoError(t, os.Remove(filepath.Join(w.tree, "kept.txt")))
	number := w.give(nil)
	require.Equal(t, w.from.Number+1, number)
	given := r.server.Checkpoints()[number]
	require.Equal(t, w.from.Number, given.Base)
	require.True(t, given.FilesOnly, "the session is older than the files")
	require.Equal(t, "refs/heads/"+branch, given.HeadRef)

	work, from := r.restored()
	require.Equal(t, digest(t, w.tree), digest(t, work))
	require.Equal(t, []string{"kept.txt", "mine.txt"}, from.Newer)
	require.Equal(t, "my commit", r.git(work, "log", "-1", "--format=%s"))
	require.Equal(t, branch, r.git(work, "branch", "--format=%(refname:short)"), "the user's branches stay with the user")
	require.Equal(t, "later", r.git(work, "show", "refs/stash:stashed.txt"), "the agent's stash, not the user's")

	r.put(w.tree, "mine.txt", "more\n")
	number = w.give(&agentOf{sent: 77})
	given = r.server.Checkpoints()[number]
	require.False(t, given.FilesOnly, "the session went on with the files")
	require.EqualValues(t, 77, given.Transcript)
}

func TestGive_FailsIfTheServerAcceptsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	k := r.open()
	r.put(r.work, "a.txt", "1")
	r.keep(k)
	w := r.take()
	r.server.CheckpointFaultOf = func(int) agenttest.Fault { return agenttest.Fault{Status: http.StatusForbidden} }
	r.put(w.tree, "a.txt", "2")
	_, err := checkpoints.Give(t.Context(), checkpoints.Given{
		Dir: w.dir, Work: w.tree, Branch: branch, From: w.from, Newest: w.from.Number, Line: w.line, Log: slog.New(slog.DiscardHandler),
	})
	require.ErrorContains(t, err, "accepts no checkpoint")
}

// unsent is a session that the API rejects.
type unsent struct{ agentOf }

func (*unsent) Sent() (string, int64) { return "", 0 }

func TestGive_FailsIfTheServerAcceptsNoSession(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	k := r.open()
	r.put(r.work, "a.txt", "1")
	r.keep(k)
	w := r.take()
	r.put(w.tree, "a.txt", "2")
	_, err := checkpoints.Give(t.Context(), checkpoints.Given{
		Dir: w.dir, Work: w.tree, Branch: branch, From: w.from, Newest: w.from.Number, Line: w.line, Session: &unsent{}, Log: slog.New(slog.DiscardHandler),
	})
	require.ErrorContains(t, err, "accepts no session")
	require.Len(t, r.server.Checkpoints(), 1, "the task could continue with one that has no session")
}
