//nolint:paralleltest,thelper // act.both runs them in parallel, as tests of their own
package main_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/checkpoint"
	agenttest "github.com/omoi-dev/omoi/internal/testkit/agent"
)

// continues leaves uncommitted work, and in another attempt says what it found.
const continues = `if [ -e left.txt ]; then says "$(cat left.txt), $(git log -1 --format=%s), $(git diff --cached --name-only), ${OMOI_RESTORED:-none}"; exit; fi
echo committed > c; git add c; git commit -qm mine; echo left > left.txt; echo staged > staged.txt; git add staged.txt; touch ready; sleep 1000`

const continuesAsClaude = `if [ -e left.txt ]; then result false "$(cat left.txt), $(git log -1 --format=%s), $(git diff --cached --name-only), ${OMOI_RESTORED:-none}"; cat > /dev/null; exit; fi
echo committed > c; git add c; git commit -qm mine; echo left > left.txt; echo staged > staged.txt; git add staged.txt; touch ready; sleep 1000`

const continuesByACP = `if [ -e left.txt ]; then result "$(cat left.txt), $(git log -1 --format=%s), $(git diff --cached --name-only), ${OMOI_RESTORED:-none}"; hear; fi
call t1; echo committed > c; git add c; git commit -qm mine; echo left > left.txt; echo staged > staged.txt; git add staged.txt; touch ready; sleep 1000`

// next returns the sandbox of the next attempt, which starts from the branch and the checkpoints of the server.
func (b *box) next() *box {
	b.t.Helper()
	dir, n := b.t.TempDir(), *b
	n.cfg.Attempt, n.cfg.Workspace, n.cfg.Dir = b.cfg.Attempt+1, filepath.Join(dir, "ws"), filepath.Join(dir, "omoi")
	n.cfg.Restore = &agentconfig.Restore{Segments: b.server.Segments()}
	return &n
}

// keptAll waits for a checkpoint with all files that the agent has written.
func (b *box) keptAll(files int) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		for _, c := range b.server.Checkpoints() {
			if c.Files >= files && c.Index {
				return true
			}
		}
		return false
	}, time.Minute, 5*time.Millisecond)
}

func TestCheckpoint_NextAttemptContinuesFromAKilledAgent(t *testing.T) {
	act{command: continues, claude: continuesAsClaude, acp: continuesByACP}.both(t, func(t *testing.T, b *box) {
		b.cfg.Checkpoint = 20 * time.Millisecond
		cmd, wait := b.start()
		waitExists(t, b.at("ready"))
		b.keptAll(3)
		require.NoError(t, cmd.Process.Kill())
		wait()
		require.NoError(t, os.RemoveAll(b.cfg.Workspace), "the disk is lost")

		n := b.next()
		require.Equal(t, 0, n.run())
		said, _ := b.one("agent.completed")["final_output"].(string)
		require.Contains(t, said, "left, mine, staged.txt, The files are those of checkpoint 1.")
		require.Equal(t, n.cfg.Restore.Segments[0][len(n.cfg.Restore.Segments[0])-1].ID, b.one("agent.restored")["checkpoint"])
		require.Empty(t, b.server.Of("agent.restore_failed"))
	})
}

func TestCheckpoint_IsTakenOfWhatAKilledAgentWroteLast(t *testing.T) {
	act{command: continues, claude: continuesAsClaude}.both(t, func(t *testing.T, b *box) {
		b.cfg.Checkpoint = 20 * time.Millisecond
		cmd, wait := b.start()
		waitExists(t, b.at("ready"))
		b.keptAll(3)
		require.NoError(t, cmd.Process.Kill())
		wait()
		require.NoError(t, os.WriteFile(b.at("left.txt"), []byte("newer\n"), 0o644))
		out, err := b.command("checkpoint", "--config", filepath.Join(b.cfg.Dir, "agent.json")).CombinedOutput()
		require.NoError(t, err, string(out))

		n := b.next()
		last := n.cfg.Restore.Segments[0][len(n.cfg.Restore.Segments[0])-1]
		require.True(t, last.FilesOnly, string(out))
		for _, e := range b.server.Of("agent.checkpoint") {
			require.NotEqualValues(t, last.Number, e.Data["checkpoint"], "readers may have seen the last event")
		}
		require.Equal(t, 0, n.run())
		said, _ := b.one("agent.completed")["final_output"].(string)
		require.Contains(t, said, "newer, mine, staged.txt, ")
		if last.Base > 0 { // else it was killed before it knew that its checkpoint was stored
			require.Contains(t, said, "These files changed after what you remember: left.txt.")
		}
	})
}

func TestCheckpoint_LostChunksAndAnswersCostNothing(t *testing.T) {
	act{command: continues, claude: continuesAsClaude}.both(t, func(t *testing.T, b *box) {
		b.server.CheckpointFaultOf = func(n int) agenttest.Fault {
			return agenttest.Fault{CutBefore: n%3 == 1, CutAfter: n%3 == 2}
		}
		b.cfg.Checkpoint = 20 * time.Millisecond
		cmd, wait := b.start()
		waitExists(t, b.at("ready"))
		b.keptAll(3)
		require.NoError(t, cmd.Process.Kill())
		wait()
		n := b.next()
		require.Equal(t, 0, n.run())
		require.Contains(t, b.one("agent.completed")["final_output"], "left, mine, staged.txt, ")
	})
}

func TestCheckpoint_WithoutOneTheAttemptStartsFromTheBranch(t *testing.T) {
	act{command: continues, claude: continuesAsClaude}.both(t, func(t *testing.T, b *box) {
		b.cfg.Restore = &agentconfig.Restore{Segments: [][]checkpoint.Checkpoint{{{ID: "1.7", Attempt: 1, Number: 7, Sealed: checkpoint.Sealed{PackBytes: 9}}}}}
		cmd, wait := b.start()
		waitExists(t, b.at("ready"))
		b.server.Wait(t, agenttest.Has("agent.restore_failed", 1))
		failed := b.one("agent.restore_failed")
		require.Equal(t, []any{"1.7", "checkpoint 1.7: its pack is damaged"}, []any{failed["checkpoint"], failed["error"]})
		require.NoError(t, cmd.Process.Kill())
		wait()
	})
}

func TestCheckpoint_AFailedRestoreLeavesTheFilesOfTheBranch(t *testing.T) {
	act{command: continues, claude: continuesAsClaude}.both(t, func(t *testing.T, b *box) {
		b.cfg.Checkpoint = 20 * time.Millisecond
		cmd, wait := b.start()
		waitExists(t, b.at("ready"))
		b.keptAll(3)
		require.NoError(t, cmd.Process.Kill())
		wait()

		n := b.next()
		n.cfg.Checkpoint, n.cfg.Setup = 0, "echo made > made.txt"
		last := n.cfg.Restore.Segments[0]
		last[len(last)-1].GitState = true // which the checkpoint does not have, as is found behind its files
		cmd, wait = n.start()
		b.server.Wait(t, agenttest.Has("agent.setup_completed", 2))
		waitExists(t, n.at("ready"))
		require.Contains(t, b.one("agent.restore_failed")["error"], "restore the Git index")
		require.Empty(t, b.server.Of("agent.restored"))
		require.Equal(t, "1", b.git(n.cfg.Workspace, "rev-list", "--count", "HEAD^"), "its own commit is behind that of the branch")
		require.FileExists(t, n.at("made.txt"))
		require.NoError(t, cmd.Process.Kill())
		wait()
	})
}

func TestCheckpoint_AnInterruptedRestoreThatCannotBeRepeatedLeavesTheFilesOfTheBranch(t *testing.T) {
	act{command: continues, claude: continuesAsClaude}.both(t, func(t *testing.T, b *box) {
		b.cfg.Checkpoint = 20 * time.Millisecond
		cmd, wait := b.start()
		waitExists(t, b.at("ready"))
		b.keptAll(3)
		require.NoError(t, cmd.Process.Kill())
		wait()

		n := b.next()
		n.cfg.Checkpoint, n.cfg.Setup = 0, "touch half.txt; sleep 1000"
		cmd, wait = n.start()
		waitExists(t, n.at("half.txt")) // behind the commits of the checkpoint
		require.NoError(t, cmd.Process.Kill())
		wait()
		require.NoError(t, os.RemoveAll(filepath.Join(n.cfg.Dir, "restore")))
		b.server.CheckpointFaultOf = func(int) agenttest.Fault { return agenttest.Fault{Status: 404} }
		n.cfg.Setup = ""
		cmd, wait = n.start()
		waitExists(t, n.at("ready"))
		require.Contains(t, b.one("agent.restore_failed")["error"], "the API answered 404")
		require.NoFileExists(t, n.at("half.txt"))
		require.NoError(t, cmd.Process.Kill())
		wait()
	})
}

func TestCheckpoint_AnOlderOneIsNamedWithTheReason(t *testing.T) {
	act{command: continues, claude: continuesAsClaude}.both(t, func(t *testing.T, b *box) {
		b.cfg.Checkpoint = 20 * time.Millisecond
		cmd, wait := b.start()
		waitExists(t, b.at("ready"))
		b.keptAll(3)
		require.NoError(t, os.WriteFile(b.at("more.txt"), []byte("more\n"), 0o644))
		b.keptAll(4)
		require.NoError(t, cmd.Process.Kill())
		wait()

		n := b.next()
		all := n.cfg.Restore.Segments[0]
		newest := all[len(all)-1]
		b.server.SpoilPack(newest.Number, func([]byte) []byte { return []byte("rubbish") })
		require.Equal(t, 0, n.run())
		failed := b.one("agent.restore_failed")
		require.Equal(t, []any{newest.ID, "checkpoint " + newest.ID + ": its pack is damaged"}, []any{failed["checkpoint"], failed["error"]})
		require.Equal(t, all[len(all)-2].ID, b.one("agent.restored")["checkpoint"])
	})
}

func TestCheckpoint_ANewFileOfTheSetupStepIsNotTheAgentsWork(t *testing.T) {
	t.Parallel()
	b := commandBox(t, `if [ ! -e left.txt ]; then echo left > left.txt; git add left.txt; touch ready; sleep 1000; fi; says Done.`)
	b.cfg.CommitLeftovers, b.cfg.Setup, b.cfg.Checkpoint = true, "cp /proc/sys/kernel/random/uuid version.txt", 20*time.Millisecond
	delete(b.cfg.Env, wantsNoCommit)
	cmd, wait := b.start()
	waitExists(t, b.at("ready"))
	b.keptAll(3)
	require.NoError(t, cmd.Process.Kill())
	wait()
	before, err := os.ReadFile(b.at("version.txt"))
	require.NoError(t, err)

	n := b.next()
	require.Equal(t, 0, n.run())
	after, err := os.ReadFile(n.at("version.txt"))
	require.NoError(t, err)
	require.Equal(t, before, after, "of the checkpoint")
	require.Equal(t, "left.txt\nready", b.git(n.cfg.Workspace, "show", "--format=", "--name-only", "HEAD"))
	require.Equal(t, []any{`"version.txt" was left out: the setup command makes it, and the checkpoint had another one`}, b.one("agent.committed")["left_out"])
}
