package diff_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/diff"
	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
)

func TestText(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		before, after  *string
		kind           string
		added, removed int
		diff           string
		binary         bool
	}{
		"new file":            {nil, new("a\nb\n"), diff.Created, 2, 0, "--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n", false},
		"new empty file":      {nil, new(""), diff.Created, 0, 0, "", false},
		"existing empty file": {new(""), new("a\n"), diff.Modified, 1, 0, "--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+a\n", false},
		"unchanged":           {new("a\n"), new("a\n"), diff.Modified, 0, 0, "", false},
		"changed":             {new("a\nb\nc\n"), new("a\nB\nc\n"), diff.Modified, 1, 1, "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", false},
		"looks like a header": {new("-- a\n"), new("++ b\n"), diff.Modified, 1, 1, "--- a/f\n+++ b/f\n@@ -1 +1 @@\n--- a\n+++ b\n", false},
		"deleted":             {new("a\n"), nil, diff.Deleted, 0, 1, "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", false},
		"binary":              {new("a\x00"), new("b"), diff.Modified, 0, 0, "", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := diff.Text("f", c.before, c.after)
			require.Equal(t, c.kind, got.Kind)
			require.Equal(t, c.diff, got.Diff)
			require.Equal(t, c.added, got.Added)
			require.Equal(t, c.removed, got.Removed)
			require.Equal(t, c.binary, got.Binary)
		})
	}
}

func TestData_Limits(t *testing.T) {
	t.Parallel()
	smallChange := diff.Text("f", nil, new("a\n"))
	small := smallChange.Data(4, "toolu_1")
	require.Equal(t, true, small["full_diff_available"])
	require.Equal(t, small["diff_preview"], small["full_diff"])
	require.Equal(t, 4, small["turn"])

	middleChange := diff.Text("f", nil, new(strings.Repeat("0123456789\n", 1000)))
	middle := middleChange.Data(1, "x")
	require.Equal(t, true, middle["full_diff_available"])
	require.Contains(t, middle["diff_preview"], "903 more lines")

	largeChange := diff.Text("f", nil, new(strings.Repeat("0123456789\n", 10_000)))
	large := largeChange.Data(1, "x")
	require.Equal(t, false, large["full_diff_available"])
	require.Nil(t, large["full_diff"])
	require.Greater(t, large["full_diff_size"], 50_000)
	require.LessOrEqual(t, len(large["diff_preview"].(string)), 5000)
	require.Equal(t, 10_000, large["lines_added"])
}

type tree struct {
	t    *testing.T
	work string
	s    *gitcmd.Shadow
}

func newTree(t *testing.T, repo bool) *tree {
	t.Helper()
	work := t.TempDir()
	if repo {
		run(t, work, "git", "init", "-q", "-b", "main")
	}
	s, err := gitcmd.Opening{Dir: filepath.Join(t.TempDir(), "shadow.git"), Work: work, Caps: gitcmd.Caps{FileBytes: 1 << 20}}.Open(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.Begin(t.Context(), ""))
	return &tree{t: t, work: work, s: s}
}

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

func (w *tree) write(name, content string) {
	w.t.Helper()
	path := filepath.Join(w.work, name)
	require.NoError(w.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(w.t, os.WriteFile(path, []byte(content), 0o644))
}

func (w *tree) take() gitcmd.Snapshot {
	w.t.Helper()
	snap, err := w.s.Take(w.t.Context())
	require.NoError(w.t, err)
	return snap
}

func (w *tree) changes(before gitcmd.Snapshot) map[string]diff.Change {
	w.t.Helper()
	after := w.take()
	list, total, err := diff.Trees(w.t.Context(), w.s.Git, before.Tree, after.Tree, 100)
	require.NoError(w.t, err)
	require.Len(w.t, list, total)
	found := map[string]diff.Change{}
	for _, c := range list {
		found[c.Path] = c
	}
	return found
}

func TestTrees(t *testing.T) {
	t.Parallel()
	for _, repo := range []bool{true, false} {
		t.Run(fmt.Sprintf("repository %v", repo), func(t *testing.T) {
			t.Parallel()
			w := newTree(t, repo)
			w.write(".gitignore", "*.log\nbuild/\n")
			w.write("keep.txt", "same\n")
			w.write("edit me.txt", "one\ntwo\n")
			w.write("delete.txt", "bye\n")
			w.write("sub/old.txt", strings.Repeat("a long line to be recognised by\n", 20))
			w.write("blob.bin", "a\x00b")
			w.write("type", "text\n")
			require.NoError(t, os.WriteFile(filepath.Join(w.work, "mode.sh"), []byte("#!/bin/sh\n"), 0o644))
			before := w.take()

			w.write("edit me.txt", "one\n2\nthree\n")
			require.NoError(t, os.Remove(filepath.Join(w.work, "delete.txt")))
			require.NoError(t, os.MkdirAll(filepath.Join(w.work, "new dir"), 0o755))
			require.NoError(t, os.Rename(filepath.Join(w.work, "sub/old.txt"), filepath.Join(w.work, "new dir/näme.txt")))
			w.write("blob.bin", "a\x00c")
			w.write("noise.log", "ignored")
			w.write("build/x", "ignored")
			w.write("created", "x\n")
			w.write("empty", "")
			require.NoError(t, os.Remove(filepath.Join(w.work, "type")))
			require.NoError(t, os.Symlink("keep.txt", filepath.Join(w.work, "type")))
			require.NoError(t, os.Chmod(filepath.Join(w.work, "mode.sh"), 0o755))

			got := w.changes(before)
			require.Len(t, got, 8)
			require.Equal(t, "--- a/edit me.txt\t\n+++ b/edit me.txt\t\n@@ -1,2 +1,3 @@\n one\n-two\n+2\n+three\n", got["edit me.txt"].Diff)
			require.Equal(t, 2, got["edit me.txt"].Added)
			require.Equal(t, 1, got["edit me.txt"].Removed)
			require.Equal(t, diff.Deleted, got["delete.txt"].Kind)
			require.Equal(t, diff.Renamed, got["new dir/näme.txt"].Kind)
			require.Equal(t, "sub/old.txt", got["new dir/näme.txt"].OldPath)
			require.True(t, got["blob.bin"].Binary)
			require.Empty(t, got["blob.bin"].Diff)
			require.Equal(t, diff.Created, got["created"].Kind)
			require.Equal(t, diff.Created, got["empty"].Kind)
			require.Equal(t, diff.Modified, got["type"].Kind)
			require.Contains(t, got["type"].Diff, "+keep.txt")
			require.Equal(t, diff.Modified, got["mode.sh"].Kind)
			require.Empty(t, got["mode.sh"].Diff)
		})
	}
}

func TestTake_LeavesTheRepositoryUnchanged(t *testing.T) {
	t.Parallel()
	w := newTree(t, true)
	w.write("a", "1\n")
	run(t, w.work, "git", "add", "a")
	run(t, w.work, "git", "commit", "-qm", "one")
	w.write("a", "2\n")
	w.write("b", "3\n")
	require.NoError(t, os.WriteFile(filepath.Join(w.work, ".git/index.lock"), nil, 0o644))
	objects := func() int {
		names, err := filepath.Glob(filepath.Join(w.work, ".git/objects/*/*"))
		require.NoError(t, err)
		return len(names)
	}
	before := objects()
	w.take()
	require.Equal(t, before, objects())
}

func TestTake_LeavesOutLargeFiles(t *testing.T) {
	t.Parallel()
	w := newTree(t, true)
	w.write("huge", strings.Repeat("x", 2<<20))
	w.write("small", "x")
	run(t, w.work, "git", "init", "-q", "nested")
	snap := w.take()
	require.Len(t, snap.Skipped, 2)
	require.Contains(t, strings.Join(snap.Skipped, " "), "huge")
	require.Contains(t, strings.Join(snap.Skipped, " "), "nested")
	require.Equal(t, 1, snap.Changed)
}
