package checkpoints_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/omoi-dev/omoi/internal/agent/checkpoints"
	"github.com/omoi-dev/omoi/internal/checkpoint"
	agenttest "github.com/omoi-dev/omoi/internal/testkit/agent"
)

// forged replaces the pack of the first checkpoint by one whose entry work has a file of a name in a folder of a name.
func (r *rig) forged(folder, name string) {
	r.t.Helper()
	forge := r.t.TempDir()
	r.git(forge, "init", "-q", ".")
	write := func(kind, content string) string {
		cmd := r.command("hash-object", "-t", kind, "-w", "--stdin", "--literally")
		cmd.Dir, cmd.Stdin = forge, strings.NewReader(content)
		out, err := cmd.Output()
		require.NoError(r.t, err)
		return strings.TrimSpace(string(out))
	}
	entry := func(mode, name, id string) string {
		raw, err := hex.DecodeString(id)
		require.NoError(r.t, err)
		return mode + " " + name + "\x00" + string(raw)
	}
	file := write("tree", entry("100755", name, write("blob", "#!/bin/sh\ntouch hacked\n")))
	top := write("tree", entry("40000", "work", write("tree", entry("40000", folder, file))))
	commit := write("commit", "tree "+top+"\nauthor a <a@b> 0 +0000\ncommitter a <a@b> 0 +0000\n\nforged\n")
	cmd := r.command("pack-objects", "--revs", "--stdout", "-q")
	cmd.Dir, cmd.Stdin = forge, strings.NewReader(commit+"\n")
	pack, err := cmd.Output()
	require.NoError(r.t, err)
	r.server.ForgePack(1, commit, pack)
}

func TestRestore_NamesOutsideOfTheWorkspaceAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	r.keep(r.open())
	for _, names := range [][2]string{{".git", "hook"}, {".GIT", "hook"}, {"..", "outside"}, {".", "x"}, {"git~1", "hook"}, {"/a", "x"}, {"a", ".git"}} {
		r.forged(names[0], names[1])
		work, dir := r.clone(), t.TempDir()
		before := digest(t, filepath.Dir(work))
		from, err := checkpoints.Fetch(t.Context(), r.line, dir, r.server.Segments())
		require.NoError(t, err)
		require.NoError(t, from.Commits(t.Context(), dir, work, branch))
		require.ErrorContains(t, from.Files(t.Context(), dir, work), "git read-tree", names)
		require.Equal(t, before, digest(t, filepath.Dir(work)))
		require.NoFileExists(t, filepath.Join(work, ".git", "hook"))
	}
}

func TestRestore_APackThatLiesAboutItsSize(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	r.put(r.work, "a.txt", strings.Repeat("a\n", 100))
	r.keep(r.open())
	var forged []byte
	r.server.SpoilPack(1, func(pack []byte) []byte {
		forged = slices.Clone(pack)
		forged[11] += 50 // the number of objects
		return pack
	})
	r.server.ForgePack(1, r.server.Checkpoints()[1].Commit, forged)
	work, dir := r.clone(), t.TempDir()
	before := digest(t, work)
	from, err := checkpoints.Fetch(t.Context(), r.line, dir, r.server.Segments())
	require.NoError(t, err)
	require.Error(t, from.Commits(t.Context(), dir, work, branch))
	require.Equal(t, before, digest(t, work))
}

func TestRestore_APackWithABlobOf2GiB(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	r.put(r.work, "a.txt", "a\n")
	r.keep(r.open())
	const size = 2 << 30
	bomb := bytes.NewBufferString("PACK\x00\x00\x00\x02\x00\x00\x00\x01\xb0\x80\x80\x80\x40") // one blob of this size
	zip, zeros := zlib.NewWriter(bomb), make([]byte, 1<<20)
	for range size / len(zeros) {
		_, err := zip.Write(zeros)
		require.NoError(t, err)
	}
	require.NoError(t, zip.Close())
	bomb.Write(make([]byte, 20))
	require.Less(t, bomb.Len(), 4<<20)
	r.server.ForgePack(1, r.server.Checkpoints()[1].Commit, bomb.Bytes())
	work, dir := r.clone(), t.TempDir()
	before := r.git(work, "count-objects", "-v")
	from, err := checkpoints.Fetch(t.Context(), r.line, dir, r.server.Segments())
	require.NoError(t, err)
	require.ErrorIs(t, from.Commits(t.Context(), dir, work, branch), checkpoint.ErrInflates)
	require.Equal(t, before, r.git(work, "count-objects", "-v"), "nothing of the pack is in the repository")
}

func TestRestore_FollowsNoLinkOfTheWorkspace(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	r.put(r.work, "new/deep/file.txt", "new\n")
	r.put(r.work, "sub/deep.txt", "changed\n")
	r.keep(r.open())
	work, dir, outside := r.clone(), t.TempDir(), t.TempDir()
	r.put(outside, "deep/file.txt", "outside\n")
	r.put(outside, "deep.txt", "outside\n")
	from, err := checkpoints.Fetch(t.Context(), r.line, dir, r.server.Segments())
	require.NoError(t, err)
	require.NoError(t, from.Commits(t.Context(), dir, work, branch))
	require.NoError(t, os.RemoveAll(filepath.Join(work, "sub"))) // by the setup step
	for _, name := range []string{"sub", "new"} {
		require.NoError(t, os.Symlink(outside, filepath.Join(work, name)))
	}
	before := digest(t, outside)
	require.NoError(t, from.Files(t.Context(), dir, work))
	require.Equal(t, before, digest(t, outside))
	require.Equal(t, digest(t, r.work), digest(t, work))
}

func TestKeep_PathsOfAnyLength(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	root, err := os.OpenRoot(r.work)
	require.NoError(t, err)
	long := strings.TrimSuffix(strings.Repeat(strings.Repeat("n", 200)+"/", 22), "/") // 4,421 bytes
	require.NoError(t, root.MkdirAll(long, 0o755))
	require.NoError(t, root.WriteFile(long+"/file", []byte("too deep\n"), 0o644))
	near := strings.Repeat("a\nb/", 200) + "file"
	require.NoError(t, root.MkdirAll(filepath.Dir(near), 0o755))
	require.NoError(t, root.WriteFile(near, []byte("deep\n"), 0o644))
	require.NoError(t, root.Close())
	k := r.open()
	r.keep(k)
	r.put(r.work, "later.txt", "later\n")
	require.NoError(t, k.Finish(t.Context()))
	require.Equal(t, "deep", r.taken(near))
	work, _ := r.restored()
	require.FileExists(t, filepath.Join(work, "later.txt"))
}

func TestKeep_AfterAnHourWithoutTheStoreOnePackCatchesUp(t *testing.T) {
	t.Parallel()
	for _, status := range []int{507, 503, 429} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			t.Parallel()
			r, rng := newRig(t, "sha1"), rand.New(rand.NewPCG(1, 2))
			k := r.openWith(checkpoints.Config{PruneBytes: 1 << 20})
			r.keep(k)
			for range 12 { // an hour of checkpoints that end at their timeout
				r.put(r.work, "large.bin", random(rng, 300<<10))
				ctx, timeout := context.WithCancel(t.Context())
				r.server.CheckpointFaultOf = func(int) agenttest.Fault { timeout(); return agenttest.Fault{Status: status} }
				require.ErrorIs(t, k.Keep(ctx), context.Canceled)
			}
			require.Empty(t, r.agent.failures, "a stopped agent has not failed")
			require.Less(t, r.looseBytes(), int64(3<<20))
			r.server.CheckpointFaultOf = nil
			r.keep(k)
			all := r.server.Checkpoints()
			require.Len(t, all, 2)
			require.Equal(t, 1, all[14].Base, "one pack behind the last stored checkpoint")
			require.Less(t, all[14].PackBytes, int64(400<<10))
			work, _ := r.restored()
			require.Equal(t, digest(t, r.work), digest(t, work))
		})
	}
}

func TestKeep_AfterAFullDisk(t *testing.T) {
	t.Parallel()
	r, rng := newRig(t, "sha1"), rand.New(rand.NewPCG(1, 2))
	if err := unix.Mount("tmpfs", r.dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skip("a small file system cannot be mounted: ", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(r.dir, unix.MNT_DETACH)) })
	k := r.open()
	defer k.Close()
	r.keep(k)
	filler := filepath.Join(r.dir, "filler")
	require.Error(t, os.WriteFile(filler, make([]byte, 5<<20), 0o600))
	for n := range 3 {
		r.put(r.work, "a.bin", random(rng, 200<<10))
		r.put(r.work, fmt.Sprintf("b/%d", n), "b\n")
		require.ErrorContains(t, k.Keep(t.Context()), "o space left on device")
	}
	require.Len(t, r.server.Checkpoints(), 1)
	require.Equal(t, []any{"disk_full"}, r.agent.failures)
	require.NoError(t, os.Remove(filler))
	require.NoError(t, k.Finish(t.Context()))
	work, from := r.restored()
	require.False(t, from.From.Torn)
	require.Equal(t, digest(t, r.work), digest(t, work))
}
