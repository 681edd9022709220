package review_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/review"
	"github.com/omoi-dev/omoi/internal/task"
)

// short returns the fields of a change that a test compares.
func short(c review.FileChange) [6]any {
	count := func(n *int) any {
		if n == nil {
			return "-"
		}
		return *n
	}
	return [6]any{c.Path, c.Status, count(c.Additions), count(c.Deletions), task.Deref(c.OldBytes), task.Deref(c.NewBytes)}
}

func TestChanges_EveryKind(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.write("binary", "a\x00b")
	r.write("gone.txt", "1\n2\n")
	r.write("old name.txt", numbered(30))
	r.write("run.sh", "echo\n")
	r.write("type", "file\n")
	base := r.commit()
	r.task.Base, r.store.branch = &base, base

	r.write("a.txt", "one\ntwo!\nthree\nfour\n")
	r.write("binary", "a\x00c")
	r.write("dir/ünïcode \"x\"\n.txt", "new\n")
	require.NoError(t, os.Remove(filepath.Join(r.repo, "gone.txt")))
	require.NoError(t, os.Rename(filepath.Join(r.repo, "old name.txt"), filepath.Join(r.repo, "new name.txt")))
	require.NoError(t, os.Chmod(filepath.Join(r.repo, "run.sh"), 0o700))
	require.NoError(t, os.Remove(filepath.Join(r.repo, "type")))
	require.NoError(t, os.Symlink("a.txt", filepath.Join(r.repo, "type")))
	c := r.checkpoint()

	found := r.changes("base", "latest")
	require.Equal(t, review.Point{Name: "base", Commit: base, Final: true}, found.From)
	require.Equal(t, review.Point{Name: "1.1", Commit: c.Commit, Checkpoint: "1.1", Attempt: 1, Sequence: 10, Final: true}, found.To)
	rows := [][6]any{}
	for _, c := range found.Files {
		rows = append(rows, short(c))
	}
	require.Equal(t, [][6]any{
		{"a.txt", "modified", 2, 1, int64(14), int64(20)},
		{"binary", "modified", "-", "-", int64(3), int64(3)},
		{"dir/ünïcode \"x\"\n.txt", "added", 1, 0, int64(0), int64(4)},
		{"gone.txt", "deleted", 0, 2, int64(4), int64(0)},
		{"new name.txt", "renamed", 0, 0, int64(len(numbered(30))), int64(len(numbered(30)))},
		{"run.sh", "modified", 0, 0, int64(5), int64(5)},
		{"type", "type_changed", 1, 1, int64(5), int64(5)},
	}, rows)
	require.Equal(t, "old name.txt", *found.Files[4].OldPath)
	require.Equal(t, [2]string{"100644", "100755"}, [2]string{found.Files[5].OldMode, found.Files[5].NewMode})
	require.Equal(t, found.Files[5].OldObject, found.Files[5].NewObject)
	require.True(t, found.Files[1].Binary)
	require.Equal(t, 7, found.TotalFiles)
	require.Equal(t, [2]int{4, 4}, [2]int{*found.Additions, *found.Deletions})
	require.False(t, found.Truncated)
}

func TestChanges_Submodule(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.git(nil, "update-index", "--add", "--cacheinfo", "160000,"+*r.task.Base+",module")
	r.seal(r.git(nil, "write-tree"))
	found := r.changes("base", "latest")
	require.Len(t, found.Files, 1)
	c := found.Files[0]
	require.True(t, c.Submodule)
	require.Equal(t, [2]string{"160000", *r.task.Base}, [2]string{c.NewMode, c.NewObject})
	require.Nil(t, c.NewBytes)
	require.Empty(t, r.diff("module", review.DiffQuery{Context: 3}).Hunks)
	file, err := r.service.File(t.Context(), r.task, r.point("latest"), review.FileQuery{Path: "module", Limit: 100})
	require.NoError(t, err)
	require.Equal(t, *r.task.Base, file.Submodule)
}

func TestChanges_BetweenCheckpointsAndResults(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.write("b.txt", "b\n")
	r.checkpoint()
	r.write("c.txt", "c\n")
	r.checkpoint()
	r.write("d.txt", "d\n")
	head := r.commit() // the agent commits, and the commit is published
	last := r.checkpoint()
	paths := func(from, to string) (all []string) {
		for _, c := range r.changes(from, to).Files {
			all = append(all, c.Path)
		}
		return all
	}
	require.Equal(t, []string{"c.txt"}, paths("1.1", "1.2"), "the second pack needs the first")
	require.Equal(t, []string{"b.txt", "c.txt", "d.txt"}, paths("base", "1.3"))
	require.Equal(t, last.Commit, r.point("1").Commit, "a running attempt")
	ended := time.Now()
	r.task.Attempts[0].EndedAt, r.task.Attempts[0].HeadCommit = &ended, &head
	require.Equal(t, review.Point{Name: "1", Commit: head, Attempt: 1, Final: true}, r.point("latest"))
	require.Empty(t, paths("1.3", "latest"))
	require.Equal(t, []string{"c.txt", "d.txt"}, paths("1.1", "1"))
	require.Equal(t, "deleted", r.changes("1", "base").Files[0].Status, "backwards")
}

func TestChanges_OfATaskWithoutARepository(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.store.branch = ""
	r.git(nil, "checkout", "--quiet", "--orphan", "own")
	r.write("b.txt", "b\n")
	r.git(nil, "add", "--all")
	r.git(nil, "commit", "--quiet", "-m", "Own")
	r.store.branch = r.git(nil, "commit-tree", r.git(nil, "hash-object", "-t", "tree", "-w", "/dev/null"), "-m", "Empty")
	r.checkpoint()
	r.store.branch, r.task.Repo, r.task.Base = "", "", nil
	found := r.changes("base", "latest")
	require.Equal(t, review.Point{Name: "base", Final: true}, found.From)
	require.Len(t, found.Files, 2)
	require.Equal(t, []string{"+b"}, r.diff("b.txt", review.DiffQuery{Context: 3}).Hunks[0].Lines)
}

func TestChanges_ManyFilesAreCountedAndCut(t *testing.T) {
	t.Parallel()
	r := setup(t)
	blob := r.git([]byte("x\n"), "hash-object", "-w", "--stdin")
	var tree strings.Builder
	for n := range 3001 {
		fmt.Fprintf(&tree, "100644 blob %s\tf%04d\n", blob, n)
	}
	r.seal(r.git([]byte(tree.String()), "mktree"))
	found := r.changes("base", "latest")
	require.True(t, found.Truncated)
	require.Len(t, found.Files, 3000)
	require.Equal(t, 3002, found.TotalFiles, "with the deleted a.txt")
	require.Nil(t, found.Additions)
}

func TestChanges_OfSHA256(t *testing.T) {
	t.Parallel()
	r := setup(t, "--object-format=sha256")
	r.write("b.txt", "b\n")
	r.checkpoint()
	require.Len(t, r.changes("base", "latest").Files, 1)
	require.Equal(t, []string{"+b"}, r.diff("b.txt", review.DiffQuery{Context: 3}).Hunks[0].Lines)
}

func TestPoint_Names(t *testing.T) {
	t.Parallel()
	r := setup(t)
	require.Equal(t, "base", r.point("latest").Name, "nothing is known yet")
	for name, kind := range map[string]task.Kind{
		"1": task.KindNoFiles, "2": task.KindNoFiles, "0": task.KindNoFiles, "1.7": task.KindNoFiles,
		"": "invalid", "x": "invalid", "01": "invalid", "1.": "invalid", "HEAD": "invalid", *r.task.Base: "invalid", "-1": task.KindNoFiles,
	} {
		_, err := r.service.Point(t.Context(), r.task, name)
		require.Equal(t, kind, task.KindOf(err), "%q: %v", name, err)
	}
	r.task.Base = nil
	_, err := r.service.Point(t.Context(), r.task, "latest")
	require.Equal(t, task.KindNoFiles, task.KindOf(err))
	require.ErrorContains(t, err, "no branch yet")
}

// TestPoint_LatestIsTheNewestOfAnEndedAttempt ends an attempt whose commit was collected, and compares it with its last checkpoint.
func TestPoint_LatestIsTheNewestOfAnEndedAttempt(t *testing.T) {
	t.Parallel()
	ended := time.Now()
	for name, c := range map[string]struct {
		outcome string
		files   int           // that differ from the head of the checkpoint
		later   time.Duration // when it was stored, after the end
		moved   bool          // the commit is newer than the head of the checkpoint
		removed bool          // retention removed it
		want    string
	}{
		"failed with changes on its commit": {outcome: "failed", files: 1, later: -time.Second, want: "1.1"},
		"failed without changes":            {outcome: "failed", later: -time.Second, want: "1"},
		"failed, and its work was saved":    {outcome: "failed", files: 1, later: -time.Second, moved: true, want: "1"},
		"completed":                         {outcome: "completed", files: 1, later: -time.Second, want: "1"},
		"revised":                           {outcome: "revised", files: 1, later: -time.Second, want: "1"},
		"completed, and a user gave":        {outcome: "completed", later: time.Second, want: "1.1"},
		"suspended, and a user gave":        {outcome: "suspended", later: time.Second, moved: true, want: "1.1"},
		"without a checkpoint":              {outcome: "failed", removed: true, want: "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setup(t)
			r.write("b.txt", "b\n")
			r.checkpoint()
			last := &r.store.all[0]
			last.Files, last.StoredAt = c.files, ended.Add(c.later)
			head := last.Head
			if c.moved {
				head = r.commit()
			}
			if c.removed {
				r.store.all = nil
			}
			r.task.Attempts[0].EndedAt, r.task.Attempts[0].HeadCommit, r.task.Attempts[0].Outcome = &ended, &head, c.outcome
			require.Equal(t, c.want, r.point("latest").Name)
			require.Equal(t, head, r.point("1").Commit, "the result of the attempt stays")
		})
	}
}
