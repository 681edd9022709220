package e2e_test

import (
	"context"
	"path"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

// patient has nobody look at a silent agent for an hour, so that an end that is noticed was seen.
func patient(settings map[string]string) map[string]string {
	settings["OMOI_TASK_HEARTBEAT_TIMEOUT"], settings["OMOI_TASK_NO_WORK_TIMEOUT"] = "1h", "1h"
	return settings
}

// TestADeadLocalSandboxIsNoticed kills what holds a sandbox together, and an agent in another one: each
// attempt ends with its reason, and the next one begins, long before the agent would be missed.
func TestADeadLocalSandboxIsNoticed(t *testing.T) {
	t.Parallel()
	r := newRig(t, patient(map[string]string{})).up()
	repo := r.repo()
	killed := map[string]func(argv []string) bool{
		"shim":  func(argv []string) bool { return slices.Contains(argv, "shim") },
		"agent": func(argv []string) bool { return path.Base(argv[0]) == "omoi-agent" },
	}
	tasks := map[string]string{}
	for name := range killed {
		tasks[name] = r.submit(repo, script(stepHang)).ID
	}
	for name, known := range killed {
		box, struck := text(r.running(tasks[name]).SandboxID), 0
		for _, pid := range processesBelow(task.SandboxName(box)) {
			if known(argvOf(pid)) && syscall.Kill(pid, syscall.SIGKILL) == nil {
				struck++
			}
		}
		require.NotZero(t, struck, "no %s is there", name)
	}
	for name, id := range tasks {
		r.diedFromOutside(id, name)
	}
	r.noLeaks()
}

// TestADeadAgentInDaytonaIsNoticed does so where the sandbox lives on. No attempt waits for the second look at the sandbox of the one
// before it, nor does a person's retry.
func TestADeadAgentInDaytonaIsNoticed(t *testing.T) {
	t.Parallel()
	cloud, settings := startCloud(t)
	settings["OMOI_DAYTONA_MAX_CREATE_DELAY"], settings["OMOI_TASK_CLEANUP_TIMEOUT"] = "1h", "1h"
	r := newRig(t, patient(settings)).up()
	made := r.submit(r.repo(), script(stepHang), inDaytona)
	box := text(r.running(made.ID).SandboxID)
	struck := r.omoi("sandbox", "exec", box, "--", "sh", "-c", `kill -9 "$(cat "$OMOI_DIR/.ctl/child")"`)
	require.Zero(t, struck.code, struck.stderr)
	r.diedFromOutside(made.ID, "agent")
	retried := r.omoi("retry", made.ID)
	require.Zero(t, retried.code, retried.stderr)
	r.running(made.ID)
	_, _, err := r.api.Cancel(context.Background(), made.ID, "seen")
	require.NoError(t, err)
	r.ends(made.ID, task.StatusCancelled)
	r.eventually("all are gone", func() bool {
		return r.count(`SELECT count(*) FROM sandboxes WHERE made_at IS NOT NULL AND gone_at IS NOT NULL`) == 3
	})
	require.Empty(t, cloud.Boxes())
	require.Zero(t, r.count(`SELECT count(*) FROM sandboxes WHERE verified_at IS NOT NULL`), "the second looks are still to come")
}

// diedFromOutside sees that the first attempt of a task has died, and ends the task.
func (r *rig) diedFromOutside(id, what string) {
	r.t.Helper()
	got := r.until(id, "has a second attempt", func(t task.Task) bool { return t.AttemptCount == 2 })
	require.Equal(r.t, task.ClassInfrastructure, got.Attempts[0].FailureClass, what)
	require.Equal(r.t, "The agent was killed from outside.", got.Attempts[0].Reason, what)
	_, _, err := r.api.Cancel(context.Background(), id, "seen")
	require.NoError(r.t, err)
	r.ends(id, task.StatusCancelled)
}

// TestADeadContainerIsNoticed does so where it hears of the end from the engine. A container that holds more
// than its disk is ended, and so noticed too.
func TestADeadContainerIsNoticed(t *testing.T) {
	t.Parallel()
	engine, c := startEngine(t)
	settings := patient(dockerSettings(t, engine))
	settings["SANDBOX_DISK_GB"] = "0.125"
	r := newRig(t, settings).up()
	made := r.submit(r.repo(), script(stepHang), inDocker)
	box := text(r.running(made.ID).SandboxID)
	found, err := c.ContainerInspect(context.Background(), task.SandboxName(box))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(found.State.Pid, syscall.SIGKILL))
	r.diedFromOutside(made.ID, "container")

	greedy := r.submit(r.repo(), script(stepWrite, `{"bash":{"command":"head -c 300000000 /dev/zero > $HOME/fill"}}`, stepHang), inDocker)
	got := r.until(greedy.ID, "has a second attempt", func(t task.Task) bool { return t.AttemptCount == 2 })
	require.Equal(t, task.ClassResources, got.Attempts[0].FailureClass)
	require.Contains(t, got.Attempts[0].Reason, "filled the sandbox's disk")
	_, _, err = r.api.Cancel(context.Background(), greedy.ID, "seen")
	require.NoError(t, err)
	r.ends(greedy.ID, task.StatusCancelled)
	r.noLeaks()
	r.engineIsEmpty(c)
}
