package checkpoints_test

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/checkpoints"
	"github.com/omoi-dev/omoi/internal/agent/track"
)

// TestKeep_NoTornTreeIsUnmarked runs a program that writes two files in order repeatedly. A checkpoint whose second
// file is newer than its first must be marked as torn.
func TestKeep_NoTornTreeIsUnmarked(t *testing.T) {
	t.Parallel()
	for _, every := range []time.Duration{time.Millisecond, 20 * time.Millisecond, 200 * time.Millisecond} {
		t.Run(every.String(), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "sha1")
			for n := range 300 { // makes a read slow
				r.put(r.work, fmt.Sprintf("many/%d", n), "x\n")
			}
			var writer sync.WaitGroup
			stop := make(chan struct{})
			writer.Go(func() {
				for n := 1; ; n++ {
					for _, name := range []string{"a-first", "z-second"} {
						_ = os.WriteFile(filepath.Join(r.work, name+".new"), []byte(strconv.Itoa(n)), 0o600)
						_ = os.Rename(filepath.Join(r.work, name+".new"), filepath.Join(r.work, name))
					}
					select {
					case <-stop:
						return
					case <-time.After(every):
					}
				}
			})
			k := r.open()
			for range 10 {
				r.keep(k)
			}
			close(stop)
			writer.Wait()
			for number, c := range r.server.Checkpoints() {
				work, from := r.restoredFrom(number)
				require.Equal(t, c.Commit, from.From.Commit)
				first, second := numberIn(t, work, "a-first"), numberIn(t, work, "z-second")
				require.True(t, c.Torn || first == second || first == second+1, "checkpoint %d has %d and %d and is not marked", number, first, second)
			}
		})
	}
}

// TestKeep_IndexAndFilesAreOfOneMoment runs a program that writes a file and stages it repeatedly. A checkpoint whose index is newer
// than its files, or more than one version older, must be marked as torn.
func TestKeep_IndexAndFilesAreOfOneMoment(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	var writer sync.WaitGroup
	stop := make(chan struct{})
	writer.Go(func() {
		for n := 1; ; n++ {
			pause := time.Duration(n%60) * time.Millisecond // fast, then slow
			if n%10 == 0 {
				pause *= 5 // on a busy machine too
			}
			_ = os.WriteFile(filepath.Join(r.work, ".git/next"), []byte(strconv.Itoa(n)), 0o600)
			_ = os.Rename(filepath.Join(r.work, ".git/next"), filepath.Join(r.work, "staged"))
			cmd := r.command("add", "staged")
			cmd.Dir = r.work
			_ = cmd.Run() // another process of Git may hold the lock
			select {
			case <-stop:
				return
			case <-time.After(pause):
			}
		}
	})
	k := r.open()
	for len(r.server.Checkpoints()) < 25 {
		r.keep(k)
	}
	close(stop)
	writer.Wait()
	torn := 0
	for number, c := range r.server.Checkpoints() {
		if c.Torn {
			torn++
			continue
		}
		work, _ := r.restoredFrom(number)
		staged, _ := strconv.Atoi(r.git(work, "show", ":staged"))
		require.Contains(t, []int{0, 1}, numberIn(t, work, "staged")-staged, "checkpoint %d", number)
	}
	require.Less(t, torn, len(r.server.Checkpoints()))
	t.Logf("%d of %d checkpoints are torn", torn, len(r.server.Checkpoints()))
}

func numberIn(t *testing.T, work, name string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(work, name))
	if os.IsNotExist(err) {
		return 0
	}
	require.NoError(t, err)
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	return n
}

func TestKeep_ManySmallPacksEndInAKeyframe(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	k := r.open()
	for n := range 53 {
		r.put(r.work, "a.txt", fmt.Sprintf("%d\n", n))
		r.keep(k)
	}
	segments := r.server.Segments()
	require.Len(t, segments, 2)
	require.Len(t, segments[1], 51)
	work, _ := r.restored()
	require.Equal(t, digest(t, r.work), digest(t, work))
}

func TestKeep_PackHoldsOnlyWhatTheLastCheckpointLacks(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	for n := range 300 {
		r.put(r.work, fmt.Sprintf("d%d/f", n), fmt.Sprintf("%d\n", n))
	}
	k := r.open()
	r.keep(k)
	r.put(r.work, "d7/f", "changed\n")
	r.keep(k)
	all := r.server.Checkpoints()
	require.Greater(t, all[1].PackBytes, int64(10_000))
	require.Less(t, all[2].PackBytes, int64(2_000), "with one changed file, of 300 that the head lacks")
	work, _ := r.restored()
	require.Equal(t, digest(t, r.work), digest(t, work))
}

func TestKeep_PackOfFoldersWithEqualNames(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	for i := range 400 {
		r.put(r.work, fmt.Sprintf("p%d/q%d/m/%d.txt", i%5, i%20/5, i), strconv.Itoa(i))
	}
	r.git(r.work, "add", ".")
	r.git(r.work, "commit", "-qm", "own")
	k := r.open()
	r.keep(k)
	for i := range 5 {
		r.put(r.work, fmt.Sprintf("p%d/q%d/m/new.txt", i, i%4), "new")
	}
	r.keep(k)
	var objects uint32
	r.server.SpoilPack(2, func(pack []byte) []byte { objects = binary.BigEndian.Uint32(pack[8:12]); return pack })
	require.LessOrEqual(t, objects, uint32(30), "the commit, 3 trees, a file, and 5 times 3 folders")
}

func TestKeep_ObjectsOfOlderCheckpointsAreDeleted(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	k := r.openWith(checkpoints.Config{PruneBytes: 1 << 20})
	rng := rand.New(rand.NewPCG(1, 2))
	piece := make([]byte, 300<<10)
	for range 20 {
		for i := range piece {
			piece[i] = byte(rng.Uint32())
		}
		r.put(r.work, "large.bin", string(piece))
		r.keep(k)
	}
	require.Less(t, r.looseBytes(), int64(3<<20), "20 versions have 6 MB")
	work, _ := r.restored()
	require.Equal(t, digest(t, r.work), digest(t, work))
}

func TestKeep_AFailedPruneStopsNoCheckpoint(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	r.put(r.work, "a.txt", "1\n")
	tracker, err := checkpoints.Track(t.Context(), r.dir, r.work, track.Config{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, tracker.Close()) })
	view, err := tracker.View(t.Context())
	require.NoError(t, err)
	seen, _, err := view.Look(t.Context())
	require.NoError(t, err)
	r.put(r.work, "a.txt", "2\n")
	_, err = tracker.Take(t.Context())
	require.NoError(t, err)
	require.NoError(t, os.Remove(filepath.Join(r.dir, "checkpoint.git/objects", seen[:2], seen[2:])))
	require.Error(t, tracker.Prune(t.Context(), 0))
	r.keep(r.openWith(checkpoints.Config{Tracker: tracker, PruneBytes: 1}))
	require.Len(t, r.server.Checkpoints(), 1)
}

func TestKeep_WithoutWatchesTheSessionIsNotNewerThanTheFiles(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	k := r.openWith(checkpoints.Config{Watches: 1}) // the next scan is due in 15 s
	r.keep(k)
	before := len(r.server.Checkpoints())
	r.agent.sent, r.agent.calls = 100, 1
	r.put(r.work, "later.txt", "by a call that the session has\n")
	r.keep(k)
	require.Len(t, r.server.Checkpoints(), before, "the files are those of the last scan")
	require.NoError(t, k.Finish(t.Context()))
	work, from := r.restored()
	require.EqualValues(t, 100, from.From.Transcript)
	require.Equal(t, digest(t, r.work), digest(t, work))
}

func TestKeep_PackLacksWhatOnlyMoved(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	large := make([]byte, 300<<10)
	_, _ = rand.NewChaCha8([32]byte{}).Read(large)
	r.put(r.work, "one/deep/large.bin", string(large))
	k := r.open()
	r.keep(k)
	for n, move := range []func(){
		func() { require.NoError(t, os.Rename(filepath.Join(r.work, "one"), filepath.Join(r.work, "two"))) },
		func() { // and another file of the folder changes
			require.NoError(t, os.Rename(filepath.Join(r.work, "two"), filepath.Join(r.work, "three")))
			r.put(r.work, "three/deep/small.txt", "small\n")
		},
	} {
		move()
		r.keep(k)
		require.Less(t, r.server.Checkpoints()[n+2].PackBytes, int64(2_000))
	}
	work, _ := r.restored()
	require.Equal(t, digest(t, r.work), digest(t, work))
}
