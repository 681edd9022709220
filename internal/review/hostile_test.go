package review_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/review"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestUnpack_DamagedAndHostilePacks(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(r *rig){
		"missing":        func(r *rig) { delete(r.store.packs, "1.1") },
		"cut":            func(r *rig) { r.store.packs["1.1"] = r.store.packs["1.1"][:40] },
		"not a pack":     func(r *rig) { r.store.packs["1.1"] = []byte(strings.Repeat("x", int(r.store.all[0].PackBytes))) },
		"another commit": func(r *rig) { r.store.all[0].Commit = strings.Repeat("a", 40) },
		"of another":     func(r *rig) { r.store.packs["1.1"] = []byte(r.pack(*r.task.Base + "\n")) },
		"no work entry": func(r *rig) {
			r.store.all[0].Commit = r.git(nil, "commit-tree", *r.task.Base+"^{tree}", "-m", "checkpoint", "-p", *r.task.Base)
			r.store.packs["1.1"] = []byte(r.pack(r.store.all[0].Commit + "\n^" + *r.task.Base + "\n"))
			r.store.all[0].PackBytes = int64(len(r.store.packs["1.1"]))
		},
		".git in a tree": func(r *rig) {
			blob := r.git([]byte("[core]\n"), "hash-object", "-w", "--stdin")
			inner := r.git([]byte("100644 blob "+blob+"\tconfig\n"), "mktree")
			r.store.all = nil
			r.seal(r.git([]byte("040000 tree "+inner+"\t.git\n"), "mktree"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setup(t)
			r.write("b.txt", "b\n")
			r.checkpoint()
			spoil(r)
			kind, said := r.refused()
			require.Equal(t, task.KindDamaged, kind, said)
			require.Contains(t, said, "Next: ")
			_, err := r.service.Changes(t.Context(), r.task, r.point("base"), r.point("base"))
			require.NoError(t, err, "the commits are still there")
		})
	}
}

func TestFetch_WithoutTheCommit(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.task.Base = new(strings.Repeat("a", 40))
	kind, said := r.refused()
	require.Equal(t, task.KindCommitMissing, kind)
	require.Contains(t, said, "no longer has a commit")

	r = setup(t)
	r.task.Repo = filepath.Join(t.TempDir(), "gone")
	kind, said = r.refused()
	require.Equal(t, task.KindCommitMissing, kind)
	require.Contains(t, said, "There is nothing at")
}

func TestFetch_LimitsTheBytesOfARepository(t *testing.T) {
	t.Parallel()
	r := setup(t)
	content := make([]byte, 2<<20)
	_, _ = rand.Read(content)
	r.write("large.bin", string(content))
	r.task.Base = new(r.commit())
	r.service.LimitFetch(64 << 10)
	kind, said := r.refused()
	require.Equal(t, task.KindFilesTooLarge, kind, said)
	left, err := filepath.Glob(filepath.Join(filepath.Dir(r.repo), "omoi-scratch-*", "omoi-review-*", "objects.git", "objects", "pack", "*"))
	require.NoError(t, err)
	require.Empty(t, left, "no part of a pack is left")
}

func TestBring_IsRepeatedAfterAFault(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.write("b.txt", "b\n")
	r.checkpoint()
	r.store.down.Store(true)
	kind, said := r.refused()
	require.Equal(t, task.Kind("unavailable"), kind, said)
	r.store.down.Store(false)
	require.Len(t, r.changes("base", "latest").Files, 1)
	reads := r.store.reads.Load()
	require.Len(t, r.changes("base", "1.1").Files, 1)
	require.Equal(t, reads, r.store.reads.Load(), "the objects are kept")

	ended, end := context.WithCancel(t.Context())
	end()
	_, err := r.service.Changes(ended, r.task, r.point("base"), r.point("latest"))
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, r.changes("base", "latest").Files, 1)
}

func TestBring_LimitsTheBytesOfPacks(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.write("b.txt", "b\n")
	r.checkpoint()
	bomb := []byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01\xb0\x80\x80\x80\x11") // a file of more than 512 MiB
	r.store.packs["1.1"], r.store.all[0].PackBytes = bomb, int64(len(bomb))
	kind, said := r.refused()
	require.Equal(t, task.KindFilesTooLarge, kind, said)
	r.store.all[0].PackBytes = checkpoint.MaxPack + 1
	kind, said = r.refused()
	require.Equal(t, task.KindFilesTooLarge, kind, said)
}

// The objects of such a tree are few.
func TestChanges_LimitsTheFilesOfATree(t *testing.T) {
	t.Parallel()
	r := setup(t)
	tree := r.git([]byte("100644 blob "+r.git([]byte("x"), "hash-object", "-w", "--stdin")+"\tf\n"), "mktree")
	for range 12 {
		var entries strings.Builder
		for name := range 10 {
			fmt.Fprintf(&entries, "040000 tree %s\t%d\n", tree, name)
		}
		tree = r.git([]byte(entries.String()), "mktree")
	}
	r.seal(tree)
	kind, said := r.refused()
	require.Equal(t, task.KindFilesTooLarge, kind, said)
}

func TestDiff_LimitsTheSizeOfAFile(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.write("a.txt", strings.Repeat("\n", 4<<20+1))
	r.checkpoint()
	list := r.changes("base", "latest")
	require.Len(t, list.Files, 1)
	_, err := r.service.Diff(t.Context(), r.task, r.point("base"), r.point("latest"), review.DiffQuery{Path: "a.txt"})
	require.Equal(t, task.KindFilesTooLarge, task.KindOf(err))
}

// TestRun_StartsNoProgramOfTheRepository names programs in all places that git reads in a working copy.
func TestRun_StartsNoProgramOfTheRepository(t *testing.T) {
	t.Parallel()
	r := setup(t)
	mark := filepath.Join(t.TempDir(), "ran")
	run := "touch " + mark + "; cat"
	for _, name := range []string{"diff.evil.textconv", "diff.evil.command", "diff.external", "filter.evil.clean", "filter.evil.smudge", "core.fsmonitor", "core.sshCommand"} {
		r.git(nil, "config", name, run)
	}
	hook := filepath.Join(r.repo, ".git", "hooks", "post-checkout")
	require.NoError(t, os.MkdirAll(filepath.Dir(hook), 0o750))
	require.NoError(t, os.WriteFile(hook, []byte("#!/bin/sh\n"+run+"\n"), 0o700))
	tree := func(content string) string {
		attributes := r.git([]byte("* diff=evil filter=evil\n"), "hash-object", "-w", "--stdin", "--no-filters")
		blob := r.git([]byte(content), "hash-object", "-w", "--stdin", "--no-filters")
		return r.git([]byte("100644 blob "+attributes+"\t.gitattributes\n100644 blob "+blob+"\ta.txt\n"), "mktree")
	}
	base := r.git(nil, "commit-tree", tree("one\n"), "-m", "Base")
	r.git(nil, "update-ref", "refs/heads/main", base)
	r.task.Base, r.store.branch = &base, base
	r.seal(tree("two\n"))
	require.Equal(t, []string{"-one", "+two"}, r.diff("a.txt", review.DiffQuery{}).Hunks[0].Lines)
	_, err := r.service.File(t.Context(), r.task, r.point("latest"), review.FileQuery{Path: "a.txt", Limit: 10})
	require.NoError(t, err)
	require.NoFileExists(t, mark)
}

func TestCopies_AreRemovedWhenTooManyAreKept(t *testing.T) {
	t.Parallel()
	r := setup(t)
	folders := func() int {
		all, err := filepath.Glob(filepath.Join(filepath.Dir(r.repo), "omoi-scratch-*", "omoi-review-*"))
		require.NoError(t, err)
		return len(all)
	}
	for range 18 {
		r.task.ID = task.NewID()
		require.Empty(t, r.changes("base", "latest").Files)
	}
	require.Equal(t, 16, folders())
}

func TestCopies_AreMadeAgainAfterACleanerRemovedThem(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.write("b.txt", "b\n")
	r.checkpoint()
	require.Len(t, r.changes("base", "latest").Files, 1)
	left, err := filepath.Glob(filepath.Join(filepath.Dir(r.repo), "omoi-scratch-*"))
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.NoError(t, os.RemoveAll(left[0]))
	require.Len(t, r.changes("base", "latest").Files, 1)
}

// TestUse_IsOneAtATime asks for files of one task at the same time.
func TestUse_IsOneAtATime(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.write("b.txt", "b\n")
	r.checkpoint()
	from, to := r.point("base"), r.point("latest")
	errs := make(chan error)
	for range 8 {
		go func() {
			_, err := r.service.Changes(context.Background(), r.task, from, to)
			errs <- err
		}()
	}
	for range 8 {
		select {
		case err := <-errs:
			require.NoError(t, err)
		case <-time.After(time.Minute):
			t.Fatal("a request hangs")
		}
	}
	require.EqualValues(t, 2, r.store.reads.Load(), "once for the sizes, once for the objects")
}
