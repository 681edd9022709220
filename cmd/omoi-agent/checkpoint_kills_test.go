package main_test

import (
	"cmp"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/testkit/scribble"
)

// restless changes a workspace without end, in all ways in which files can differ, and commits and stages now and then.
const restless = `echo $$ > pid; n=0; while :; do n=$((n+1)); d="d$((n%7))"
mkdir -p "$d"; echo "$n" > "$d/f$((n%11))"; printf 'a\r\n%s' "$n" > "$d/crlf.txt"; ln -sfn "../d$((n%3))/f$n" "$d/link"; chmod $((n%2*64+640)) "$d/f$((n%11))"
[ $((n%5)) = 0 ] && rm -rf "d$(((n+3)%7))"; [ $((n%6)) = 0 ] && mv "$d" "moved$((n%4))" 2>/dev/null
[ $((n%4)) = 0 ] && git add -A; [ $((n%9)) = 0 ] && git commit -qam "commit $n"; [ $((n%13)) = 0 ] && git stash -q; echo "$n" > counter; done`

// kills calls test for each of OMOI_CHECKPOINT_KILLS kills; 3 without it.
func kills(t *testing.T, test func(t *testing.T, rng *rand.Rand)) {
	t.Helper()
	all, err := strconv.Atoi(cmp.Or(os.Getenv("OMOI_CHECKPOINT_KILLS"), "3"))
	require.NoError(t, err)
	for n := range all {
		t.Run(strconv.Itoa(n+1), func(t *testing.T) {
			t.Parallel()
			test(t, rand.New(rand.NewPCG(17, uint64(n))))
		})
	}
}

// patience is how long a test waits for what comes sooner or later: programs that never rest share the processors with it.
const patience = 5 * time.Minute

// Limits of inotify in a user namespace.
const (
	noInstances = "echo 0 > /proc/sys/user/max_inotify_instances"
	fewWatches  = "echo 2 > /proc/sys/user/max_inotify_watches"
)

// limited runs omoi-agent where inotify has a limit that is used up, so that scans alone find changes; empty: none.
func (b *box) limited(limit string) {
	b.t.Helper()
	if limit == "" {
		return
	}
	b.inside = []string{"unshare", "-Ur", "sh", "-c", limit + ` && exec "$0" "$@"`}
	if out, err := exec.Command(b.inside[0], append(b.inside[1:], "true")...).CombinedOutput(); err != nil {
		b.t.Skipf("SKIPPED: no user namespace can be made here: %v: %s", err, out)
	}
	b.t.Cleanup(func() { require.Contains(b.t, b.log.String(), "scanning instead") })
}

// TestCheckpoint_EveryKillLeavesTheSameFiles kills the agent at random moments: the next attempt has the same files, links, modes
// and Git state as the workspace had then.
func TestCheckpoint_EveryKillLeavesTheSameFiles(t *testing.T) {
	t.Parallel()
	kills(t, func(t *testing.T, rng *rand.Rand) {
		t.Helper()
		killedAgent(t, rng, "")
	})
}

// TestCheckpoint_WithoutWatchesEveryKillLeavesTheSameFiles is the same where the host allows no instances of inotify, or too few watches.
func TestCheckpoint_WithoutWatchesEveryKillLeavesTheSameFiles(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]string{"instances": noInstances, "watches": fewWatches} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kills(t, func(t *testing.T, rng *rand.Rand) {
				t.Helper()
				killedAgent(t, rng, limit)
			})
		})
	}
}

func killedAgent(t *testing.T, rng *rand.Rand, limit string) {
	t.Helper()
	b := commandBox(t, restless)
	b.limited(limit)
	b.cfg.Checkpoint = 10 * time.Millisecond
	cmd, wait := b.start()
	pid := waitFile(t, b.at("pid"))
	seen := 1 + rng.IntN(4)
	if limit != "" { // they come every 15 seconds
		seen = 1 + seen%2
	}
	require.Eventually(t, func() bool { return len(b.server.Checkpoints()) >= seen }, patience, time.Millisecond)
	require.NoError(t, cmd.Process.Kill())
	wait()
	last := ""
	require.Eventually(t, func() bool {
		before := last
		last = stamps(b.cfg.Workspace)
		return before == last && gone(pid)
	}, patience, 20*time.Millisecond, "the program ends with its agent")
	out, err := b.command("checkpoint", "--config", filepath.Join(b.cfg.Dir, "agent.json")).CombinedOutput()
	require.NoError(t, err, string(out))

	n := b.next()
	n.cfg.Command = []string{"true"}
	n.run()
	require.Len(t, b.server.Of("agent.restored"), 1, "%s", b.server.Of("agent.restore_failed"))
	require.Equal(t, filesOf(t, b.cfg.Workspace), filesOf(t, n.cfg.Workspace))
	for _, ask := range [][]string{{"rev-parse", "HEAD"}, {"ls-files", "--stage"}, {"for-each-ref", "refs/heads", "refs/stash"}} {
		require.Equal(t, b.git(b.cfg.Workspace, ask...), n.git(n.cfg.Workspace, ask...), ask)
	}
}

// mostLost is the maximum age of what is restored after the loss of a disk.
const mostLost = 15 * time.Second

// scanEvery is the shortest time between two scans without watches.
const scanEvery = 15 * time.Second

// TestCheckpoint_LostDiskCostsAtMost15Seconds kills the agent at random moments and removes its disk: the next attempt has files and
// staged state of one moment, at most 15 s before, and a session that is not newer and at most 15 s old.
func TestCheckpoint_LostDiskCostsAtMost15Seconds(t *testing.T) {
	t.Parallel()
	kills(t, func(t *testing.T, rng *rand.Rand) {
		t.Helper()
		lostDisk(t, rng, "", mostLost)
	})
}

// TestCheckpoint_WithoutWatchesALostDiskCostsOneScanMore is the same without watches.
func TestCheckpoint_WithoutWatchesALostDiskCostsOneScanMore(t *testing.T) {
	t.Parallel()
	kills(t, func(t *testing.T, rng *rand.Rand) {
		t.Helper()
		lostDisk(t, rng, noInstances, mostLost+scanEvery)
	})
}

func lostDisk(t *testing.T, rng *rand.Rand, limit string, most time.Duration) {
	t.Helper()
	b := commandBox(t, `told() { says "change $1 $(date +%s%N)"; }; `+scribble.Program)
	b.limited(limit)
	b.cfg.Checkpoint = 10 * time.Second // the default
	cmd, wait := b.start()
	require.Eventually(t, func() bool { return len(b.server.Checkpoints()) > 0 }, patience, time.Millisecond)
	timer := time.NewTimer(time.Duration(rng.Int64N(int64(2 * b.cfg.Checkpoint))))
	<-timer.C
	require.NoError(t, cmd.Process.Kill())
	killed := time.Now()
	wait()
	require.Eventually(t, func() bool { return os.RemoveAll(b.cfg.Workspace) == nil }, patience, 10*time.Millisecond)
	require.NoError(t, os.RemoveAll(b.cfg.Dir))

	n := b.next()
	n.cfg.Command = []string{"true"}
	n.run()
	from := b.one("agent.restored")
	cmd = exec.Command("sh", "-c", scribble.List)
	cmd.Dir = n.cfg.Workspace
	out, err := cmd.Output()
	require.NoError(t, err)
	in, _ := scribble.Parse(string(out)).In("w1")
	at, ok := in.Moment(true)
	require.True(t, ok || from["torn"] == true, "%v", in)
	require.Less(t, killed.Sub(at.At), most)

	last := n.cfg.Restore.Segments[0][len(n.cfg.Restore.Segments[0])-1]
	said := lastChange(t, b.server.Transcripts()[last.RunID].Content[:last.Transcript])
	require.LessOrEqual(t, said.Change, at.Change, "the session is not newer than the files")
	require.Less(t, killed.Sub(said.At), most)
	t.Logf("lost %.1f s of files, %.1f s of the session", killed.Sub(at.At).Seconds(), killed.Sub(said.At).Seconds())
}

var changeForm = regexp.MustCompile(`change (\d+ \d{19})`)

// lastChange returns the newest change that a transcript names.
func lastChange(t *testing.T, transcript string) scribble.Moment {
	t.Helper()
	all := changeForm.FindAllStringSubmatch(transcript, -1)
	require.NotEmpty(t, all)
	at, ok := scribble.Clock(all[len(all)-1][1])
	require.True(t, ok)
	return at
}

func stamps(work string) (all string) {
	_ = filepath.WalkDir(work, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // it is gone
		}
		if info, err := entry.Info(); err == nil {
			all += fmt.Sprint(path, info.ModTime().UnixNano(), info.Size())
		}
		return nil
	})
	return all
}

// filesOf lists the files of a workspace: name, executable bit, and bytes or the target of a link.
func filesOf(t *testing.T, work string) (lines []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(work, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(work, path)
		switch {
		case err != nil:
			return err
		case entry.Name() == ".git":
			return filepath.SkipDir
		case entry.IsDir():
			return nil
		case entry.Type() == fs.ModeSymlink:
			to, err := os.Readlink(path)
			lines = append(lines, name+" -> "+to)
			return err
		}
		info, err := entry.Info()
		require.NoError(t, err)
		content, err := os.ReadFile(path)
		lines = append(lines, fmt.Sprintf("%s %t %q", name, info.Mode()&0o100 != 0, content))
		return err
	}))
	return lines
}
