package e2e_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	dockerclient "github.com/docker/docker/client"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

// stepBeats works until [rig.release], and shows it in a file.
const stepBeats = `{"bash":{"command":"while [ ! -e go ]; do echo x >> beats; sleep 0.05; done; rm beats go","timeout_s":300}}`

// beats is how often the agents of this laptop have worked so far.
func (l *laptop) beats() int64 {
	l.t.Helper()
	found, err := filepath.Glob(filepath.Join(l.dir, "sandboxes", "*", "ws", "beats"))
	require.NoError(l.t, err)
	var size int64
	for _, file := range found {
		info, err := os.Stat(file)
		require.NoError(l.t, err)
		size += info.Size()
	}
	return size
}

// atWork waits until agents work more than before.
func (l *laptop) atWork(before int64) {
	l.t.Helper()
	l.eventually("agents work", func() bool { return l.beats() > before })
}

// unstopped are the processes of this laptop, shims among them, that no signal has stopped.
func (l *laptop) unstopped() []string {
	var found []string
	for _, pid := range processesWith(l.dir) {
		stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		if err == nil && !strings.Contains(string(stat), ") T ") && !strings.Contains(string(stat), ") Z ") {
			found = append(found, string(stat))
		}
	}
	return found
}

func (l *laptop) said() string {
	l.t.Helper()
	raw, err := os.ReadFile(filepath.Join(l.dir, "dev.log"))
	require.NoError(l.t, err)
	return string(raw)
}

// After a stop no agent runs. The next start lets each go on in the attempt in which it was, and
// does not count the time: neither against the longest duration of an attempt nor as silence.
func TestDevFreezesItsAgents(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			l := newLaptop(t)
			l.dev()
			made := l.submit(l.repo(), script(stepWrite, stepBeats, stepCommit, stepComplete))
			l.running(made.ID)
			l.atWork(0)
			l.signal("dev", sig)
			require.Empty(t, l.unstopped(), "no program of omoi runs")
			require.NotZero(t, l.below(), "the agent is frozen, not ended")
			require.Contains(t, l.said(), "1 sandbox is frozen")
			require.Contains(t, l.said(), "continues with 1 open task")

			before := l.beats()
			require.False(t, waitFor(500*time.Millisecond, func() bool { return l.beats() > before }), "the agent works")
			l.dev()
			l.atWork(before)
			l.eventually("the thaw is told", func() bool { return strings.Contains(l.said(), "thawed 1 sandbox") })
			l.eventually("the time of the stop is written", func() bool {
				return l.count(`SELECT count(*) FROM outages WHERE part = 'frozen' AND until <= now()`) == 1
			})
			l.release(made.ID)
			got := l.ends(made.ID, task.StatusCompleted)
			require.Equal(t, 1, got.AttemptCount)
			l.noLeaks()
			l.signal("dev", sig)
			require.Contains(t, l.said(), "no agent runs on this machine")
			require.True(t, waitFor(patience, func() bool { return l.below() == 0 }), "nothing is left")
		})
	}
}

// The same for containers: a stop pauses them, the next start lets them continue.
func TestDev_FreezesContainers(t *testing.T) {
	t.Parallel()
	engine, docker := startEngine(t)
	l := newLaptop(t)
	maps.Copy(l.env, dockerSettings(t, engine))
	l.dev()
	made := l.submit(l.repo(), script(stepWrite, stepUntilReleased, stepCommit, stepComplete), inDocker)
	box := text(l.running(made.ID).SandboxID)
	l.eventually("the agent works", func() bool { return l.stored(box, "agent.tool_use") >= 2 })
	l.signal("dev", syscall.SIGINT)
	require.Contains(t, l.said(), "1 sandbox is frozen")
	require.Equal(t, []string{container.StatePaused}, containerStates(t, docker))

	l.dev()
	l.eventually("the container continues", func() bool { return slices.Equal([]string{container.StateRunning}, containerStates(t, docker)) })
	released := l.omoi("sandbox", "exec", box, "--", "touch", "go")
	require.Zero(t, released.code, released.stderr)
	require.Equal(t, 1, l.ends(made.ID, task.StatusCompleted).AttemptCount)
	l.noLeaks()
}

// containerStates are the states of the sandboxes at an engine.
func containerStates(t *testing.T, engine *dockerclient.Client) []string {
	t.Helper()
	found, err := engine.ContainerList(context.Background(), container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", "omoi.installation"))})
	require.NoError(t, err)
	var states []string
	for _, one := range found {
		states = append(states, one.State)
	}
	return states
}

// Cut short at whatever moment, a stop leaves nothing that the next start does not settle. Agents that were frozen
// when the machine was restarted are gone; a task that is cancelled at once has its frozen sandbox deleted.
func TestDevSettlesAStopThatWasCutShort(t *testing.T) {
	t.Parallel()
	l := newLaptop(t)
	l.dev()
	repo := l.repo()
	kept, cancelled, lost := l.submit(repo, script(stepWrite, stepBeats, stepCommit, stepComplete)),
		l.submit(repo, script(stepUntilReleased, stepComplete)), l.submit(repo, script(stepWrite, stepUntilReleased, stepCommit, stepComplete))
	for _, one := range []task.Task{kept, cancelled, lost} {
		l.running(one.ID)
	}
	l.atWork(0)
	gone := text(l.task(lost.ID).SandboxID)
	require.NoError(t, l.procs["dev"].cmd.Process.Signal(syscall.SIGINT))
	l.eventually("the stop freezes agents", func() bool { return len(l.unstopped()) < l.below() })
	l.kill("dev")
	for _, pid := range processesWith(gone) { // as a restart of the machine does
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}

	before := l.beats()
	l.dev()
	l.atWork(before)
	_, _, err := l.api.Cancel(context.Background(), cancelled.ID, "")
	require.NoError(t, err)
	l.ends(cancelled.ID, task.StatusCancelled)
	l.eventually("the lost agent has a successor", func() bool { return l.task(lost.ID).AttemptCount == 2 && l.task(lost.ID).Status == task.StatusRunning })
	l.release(lost.ID)
	l.release(kept.ID)
	require.Equal(t, 1, l.ends(kept.ID, task.StatusCompleted).AttemptCount)
	l.ends(lost.ID, task.StatusCompleted)
	l.noLeaks()
}

// Who asks for it has agents run on, as after a kill.
func TestDevLeavesAgentsRunning(t *testing.T) {
	t.Parallel()
	l := newLaptop(t)
	l.args = []string{"--leave-running"}
	l.dev()
	made := l.submit(l.repo(), script(stepWrite, stepBeats, stepCommit, stepComplete))
	l.running(made.ID)
	l.atWork(0)
	l.signal("dev", syscall.SIGINT)
	l.atWork(l.beats())
	require.Contains(t, l.said(), "keep running")
	l.dev()
	l.release(made.ID)
	require.Equal(t, 1, l.ends(made.ID, task.StatusCompleted).AttemptCount)
}
