package e2e_test

import (
	"context"
	"encoding/json"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/cli/check"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	apiclient "github.com/omoi-dev/omoi/internal/client"
)

// TestChecklist carries out every check as an operator does, and holds the installation to each point of the
// checklist for sandboxes by what came of them.
func TestChecklist(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_TASK_HEARTBEAT_TIMEOUT": "60s"}).up()
	var results []check.Result
	for _, one := range check.All() {
		res := r.omoi("check", one.Name, "--json")
		require.Zero(t, res.code, "%s\n%s\n%s", one.Name, res.stdout, res.stderr)
		results = append(results, told(t, res)...)
	}
	for _, point := range check.Checklist(results) {
		t.Run(point.Name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, check.Pass, point.Verdict)
		})
	}
	require.Zero(t, r.count(`SELECT count(*) FROM tasks WHERE status NOT IN ('completed', 'failed', 'cancelled')`), "a check left a task")
	r.noLeaks()
	r.gapless()
}

func told(t *testing.T, res result) []check.Result {
	t.Helper()
	var said struct {
		Checks []check.Result `json:"checks"`
	}
	require.NoError(t, json.Unmarshal([]byte(res.stdout), &said), res.stdout)
	return said.Checks
}

// TestAStoppedCheckEndsWhatItMade stops one by Ctrl-C and one by its time limit, while its task is at work in a sandbox.
func TestAStoppedCheckEndsWhatItMade(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t, map[string]string{"OMOI_TASK_HEARTBEAT_TIMEOUT": "60s"}).up()
	_, err := r.api.CreateProject(ctx, apiclient.NewProject{Name: "omoi-check", Setup: "sleep 600"})
	require.NoError(t, err)

	r.start("check", nil, "check", "spawn")
	stopped := r.procs["check"]
	r.eventually("its sandbox is at work", func() bool {
		return r.count(`SELECT count(*) FROM sandbox_events WHERE event_type = 'agent.setup_started'`) == 1
	})
	r.signal("check", syscall.SIGINT)
	require.Equal(t, exit.Interrupted, stopped.cmd.ProcessState.ExitCode())
	require.Equal(t, 1, r.count(`SELECT count(*) FROM tasks WHERE status = 'cancelled'`))
	require.Equal(t, 1, r.count(`SELECT count(*) FROM sandboxes WHERE verified_at IS NOT NULL`))

	late := r.omoi("check", "spawn", "--timeout", "5s", "--json")
	require.Equal(t, exit.Failed, late.code, late.stderr)
	steps := told(t, late)[0].Steps
	require.Equal(t, check.Fail, steps[1].Verdict)
	require.Contains(t, steps[1].Detail, "Not within 5s. ")
	require.Contains(t, steps[1].Next, "omoi ")
	require.Equal(t, check.Skip, steps[2].Verdict)
	require.Equal(t, check.Pass, steps[len(steps)-1].Verdict, "it has ended what it made")
	require.Equal(t, 2, r.count(`SELECT count(*) FROM tasks WHERE status = 'cancelled'`))
	r.noLeaks()
}

// TestAFailedCheckSaysWhatToDo has checks fail before there is a task.
func TestAFailedCheckSaysWhatToDo(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t, nil)
	away := r.omoi("check", "flow")
	require.Equal(t, exit.Unreachable, away.code, away.stdout)
	require.Contains(t, away.stdout, "No server answers")
	r.up()

	nowhere := r.omoi("check", "git", "--repo", r.dir+"/nowhere")
	require.Equal(t, exit.Failed, nowhere.code)
	require.Contains(t, nowhere.stdout, "FAIL  [1/4]")
	made, err := r.api.CreateProject(ctx, apiclient.NewProject{Name: "omoi-check"})
	require.NoError(t, err)
	_, err = r.api.PauseProject(ctx, made.ID, apiclient.Halt{})
	require.NoError(t, err)
	paused := r.omoi("check", "agent")
	require.Equal(t, exit.Failed, paused.code)
	require.Contains(t, paused.stdout, "Next: omoi projects resume omoi-check")
	require.Zero(t, r.count(`SELECT count(*) FROM tasks`))
}
