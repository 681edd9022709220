package e2e_test

import (
	"context"
	"encoding/json"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/scenario"
)

// checklist names the steps of checks that prove each point of the checklist for sandboxes.
var checklist = map[string]map[string][]string{
	"Sandbox task can submit results without ValueError":       {"e2e": {"the task is completed"}},
	"Guardian can detect sandbox tasks in monitoring loop":     {"monitoring": {"the monitoring finds its sandbox", "the guardian finds it"}},
	"Guardian can send interventions to sandbox tasks":         {"guardian": {"it tells the agent", "the agent has heard it"}},
	"Trajectory analysis finds sandbox agent's current task":   {"monitoring": {"its id leads to its trajectory"}},
	"Monitor metrics include sandbox task completions":         {"agent": {"its completion is recorded"}},
	"Agent output collector returns events for sandbox agents": {"monitoring": {"what its agent says is collected"}},
	"Collaboration messages reach sandbox agents":              {"agent": {"a message reaches it"}},
	"Task retry works for sandbox tasks":                       {"flow": {"a cancel stops it", "a retry begins in another sandbox"}},
	"Diagnostic recovery notifications include sandbox tasks":  {"diagnosis": {"its failure is diagnosed", "the next agent gets the diagnosis"}},
}

// TestChecklist carries out every check as an operator does, and holds the installation to each point of the
// checklist for sandboxes by what came of them.
func TestChecklist(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_TASK_HEARTBEAT_TIMEOUT": "60s"}).up()
	verdicts := map[string]map[string]scenario.Verdict{}
	for _, one := range scenario.Checks() {
		res := r.omoi("check", one.Name, "--json")
		require.Zero(t, res.code, "%s\n%s\n%s", one.Name, res.stdout, res.stderr)
		verdicts[one.Name] = map[string]scenario.Verdict{}
		for _, step := range told(t, res)[0].Steps {
			verdicts[one.Name][step.Name] = step.Verdict
		}
	}
	for point, checks := range checklist {
		for check, steps := range checks {
			for _, step := range steps {
				require.Equal(t, scenario.Pass, verdicts[check][step], "%s: %s", point, step)
			}
		}
	}
	require.Zero(t, r.count(`SELECT count(*) FROM tasks WHERE status NOT IN ('completed', 'failed', 'cancelled')`), "a check left a task")
	r.noLeaks()
	r.gapless()
}

func told(t *testing.T, res result) []scenario.Result {
	t.Helper()
	var said struct {
		Checks []scenario.Result `json:"checks"`
	}
	require.NoError(t, json.Unmarshal([]byte(res.stdout), &said), res.stdout)
	return said.Checks
}

// TestAStoppedCheckEndsWhatItMade stops one by Ctrl-C, which is passed on a second time, and one by its time limit, while
// its task runs in a sandbox.
func TestAStoppedCheckEndsWhatItMade(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t, map[string]string{"OMOI_TASK_HEARTBEAT_TIMEOUT": "60s"}).up()
	_, err := r.api.CreateProject(ctx, apiclient.CreateProjectRequest{Name: "omoi-check", Setup: "sleep 600"})
	require.NoError(t, err)

	r.start("check", nil, "check", "agent")
	r.eventually("its sandbox is at work", func() bool {
		return r.count(`SELECT count(*) FROM sandbox_events WHERE event_type = 'agent.setup_started'`) == 1
	})
	stopped := r.procs["check"]
	require.NoError(t, stopped.cmd.Process.Signal(syscall.SIGTERM))
	r.signal("check", syscall.SIGINT)
	require.Equal(t, exit.Interrupted, stopped.cmd.ProcessState.ExitCode())
	require.Equal(t, 1, r.count(`SELECT count(*) FROM tasks WHERE status = 'cancelled'`))
	require.Equal(t, 1, r.count(`SELECT count(*) FROM sandboxes WHERE verified_at IS NOT NULL`))
	require.Equal(t, 1, r.count(`SELECT count(*) FROM tasks WHERE title = 'omoi check agent' AND task_type = 'omoi_check'`))

	late := r.omoi("check", "agent", "--timeout", "5s", "--json")
	require.Equal(t, exit.Failed, late.code, late.stderr)
	steps := told(t, late)[0].Steps
	require.Equal(t, scenario.Fail, steps[0].Verdict)
	require.Contains(t, steps[0].Detail, "Not within 5s. ")
	require.Contains(t, steps[0].Next, "omoi ")
	require.Equal(t, scenario.Skip, steps[1].Verdict)
	end := steps[len(steps)-1]
	require.Equal(t, scenario.Pass, end.Verdict, "it has ended what it made")
	require.Equal(t, 2, r.count(`SELECT count(*) FROM tasks WHERE status = 'cancelled'`))
	r.noLeaks()
}

// TestAFailedCheckSaysWhatToDo has checks fail before there is a task, and before it has a sandbox.
func TestAFailedCheckSaysWhatToDo(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t, map[string]string{"OMOI_DOCKER_ENABLED": "never"})
	away := r.omoi("check", "flow")
	require.Equal(t, exit.Unreachable, away.code, away.stdout)
	require.Contains(t, away.stdout, "No server answers")
	r.up()

	nowhere := r.omoi("check", "e2e", "--repo", r.dir+"/nowhere")
	require.Equal(t, exit.Failed, nowhere.code)
	require.Contains(t, nowhere.stdout, "FAIL  [2/6]")
	require.Contains(t, nowhere.stdout, "--repo: ")
	require.Equal(t, 1, strings.Count(nowhere.stdout, "Next: "), nowhere.stdout)
	engineless := r.omoi("check", "agent", "--sandbox", "docker", "--timeout", "10m")
	require.Equal(t, exit.Failed, engineless.code)
	require.Contains(t, engineless.stdout, "The task gets no sandbox: no host offers docker sandboxes")
	require.Contains(t, engineless.stdout, "Next: omoi doctor")
	require.Zero(t, r.count(`SELECT count(*) FROM sandboxes`))
	made, err := r.api.Projects(ctx, "")
	require.NoError(t, err)
	require.Equal(t, "omoi-check", made.Items[0].Name)
	_, err = r.api.PauseProject(ctx, made.Items[0].ID, apiclient.PauseRequest{})
	require.NoError(t, err)
	paused := r.omoi("check", "agent")
	require.Equal(t, exit.Failed, paused.code)
	require.Contains(t, paused.stdout, "Next: omoi project resume omoi-check")
	require.Equal(t, 1, r.count(`SELECT count(*) FROM tasks`), "that of the check without an engine")
}
