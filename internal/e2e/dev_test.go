package e2e_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/devstack"
	"github.com/omoi-dev/omoi/internal/task"
)

// laptop is a person's machine: one home, in which omoi dev is started and killed.
type laptop struct {
	*rig

	home string
	args []string // of omoi dev
}

func newLaptop(t *testing.T) *laptop {
	t.Helper()
	if _, err := devstack.FindTemporal(""); err != nil {
		t.Skip("SKIPPED: no temporal program; make temporal builds it")
	}
	dir, err := os.MkdirTemp("", "omoi-e2e-") //nolint:usetesting // sandboxes of other users must be able to enter it
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	temporal, err := devstack.FindTemporal("")
	require.NoError(t, err)
	l := &laptop{rig: &rig{t: t, dir: dir, procs: map[string]*process{}}, home: filepath.Join(dir, "home")}
	l.env = map[string]string{
		"OMOI_HOME": l.home, "OMOI_DEV_POSTGRES_DATA_ROOT": filepath.Join(dir, "root"), "OMOI_DEV_TEMPORAL_BIN": temporal,
		"OMOI_API_PORT": "0", "OMOI_DEV_TEMPORAL_PORT": "0", "OMOI_DEV_TEMPORAL_UI_PORT": "0",
		"OMOI_SANDBOX_DIR": filepath.Join(dir, "sandboxes"), "OMOI_TEST_AGENT_HEARTBEAT_INTERVAL": "300ms", "OMOI_RELAY_DIGEST_INTERVAL": "500ms", "OMOI_TEST_RELAY_POLL_INTERVAL": "50ms",
		"PATH": os.Getenv("PATH"), "HOME": dir,
	}
	t.Cleanup(l.close)
	return l
}

// dev starts omoi dev and waits until it answers.
func (l *laptop) dev() devstack.Info {
	l.t.Helper()
	l.start("dev", nil, append([]string{"dev"}, l.args...)...)
	pid := l.procs["dev"].cmd.Process.Pid
	var info devstack.Info
	l.eventually("omoi dev answers", func() bool {
		var err error
		info, err = devstack.ReadInfo(l.home)
		if err != nil || info.PID != pid {
			return false
		}
		l.api = apiclient.New(info.APIURL, "")
		_, err = l.api.Info(context.Background())
		return err == nil
	})
	pool, err := pgxpool.New(context.Background(), info.DatabaseURL)
	require.NoError(l.t, err)
	l.t.Cleanup(pool.Close)
	l.pool = pool
	return info
}

// below counts the processes of this home, sandboxes included.
func (l *laptop) below() int { return len(processesWith(l.dir)) }

// Killed in mid-run, omoi dev goes on where it stopped, on the same ports: the agent never
// noticed, the task completes in its one attempt, and Ctrl-C leaves nothing behind.
func TestDevGoesOnAfterKill(t *testing.T) {
	t.Parallel()
	l := newLaptop(t)
	before := l.dev()
	for _, value := range []string{before.APIURL, before.TemporalAddress, before.TemporalNamespace, before.TemporalUIURL, before.DatabaseURL} {
		require.NotEmpty(t, value, "dev.json: %+v", before)
	}
	repo := l.repo()
	done := l.submit(repo, script(stepWrite, stepCommit, stepComplete))
	l.ends(done.ID, task.StatusCompleted)
	running := l.submit(repo, script(stepWrite, stepUntilReleased, stepCommit, stepComplete))
	l.running(running.ID)
	refused := l.omoi("dev")
	require.Equal(t, 1, refused.code)
	require.Contains(t, refused.stderr, before.APIURL)
	require.Contains(t, refused.stderr, "OMOI_HOME", "how to run a second one")

	l.kill("dev")
	after := l.dev()
	before.PID = after.PID
	require.Equal(t, before, after)
	require.Equal(t, task.StatusCompleted, l.task(done.ID).Status)
	l.release(running.ID)
	got := l.ends(running.ID, task.StatusCompleted)
	require.Equal(t, 1, got.AttemptCount)
	l.noLeaks()
	l.gapless()

	require.NoError(t, l.procs["dev"].cmd.Process.Signal(syscall.SIGINT))
	<-l.procs["dev"].done
	require.Zero(t, l.procs["dev"].cmd.ProcessState.ExitCode())
	require.True(t, waitFor(patience, func() bool { return l.below() == 0 }), "nothing is left")
	require.NoFileExists(t, devstack.InfoPath(l.home))
	nobody := l.omoi("ps")
	require.Equal(t, 3, nobody.code)
	require.Contains(t, nobody.stderr, "omoi dev")
}

// stepUntilReleased waits for [rig.release].
const stepUntilReleased = `{"bash":{"command":"while [ ! -e go ]; do sleep 0.1; done","timeout_s":300}}`

// release lets the agent of a task go on: it waits for a file in its workspace.
func (r *rig) release(id string) {
	r.t.Helper()
	sandbox := text(r.task(id).SandboxID)
	found, err := exec.CommandContext(context.Background(), "find", r.dir, "-type", "d", "-name", "ws", "-path", "*"+sandbox+"*").Output()
	require.NoError(r.t, err)
	workspaces := strings.Fields(string(found))
	require.Len(r.t, workspaces, 1)
	require.NoError(r.t, os.WriteFile(filepath.Join(workspaces[0], "go"), nil, 0o644))
}

// Two homes live side by side and know nothing of each other.
func TestTwoHomesSideBySide(t *testing.T) {
	t.Parallel()
	one, two := newLaptop(t), newLaptop(t)
	first, second := one.dev(), two.dev()
	require.NotEqual(t, first.APIURL, second.APIURL)
	require.NotEqual(t, first.TemporalAddress, second.TemporalAddress)
	made := one.submit(one.repo(), script(stepWrite, stepCommit, stepComplete))
	one.ends(made.ID, task.StatusCompleted)
	_, err := two.api.Task(context.Background(), made.ID)
	require.Equal(t, task.CodeNotFound, task.CodeOf(err))
}

// TestDevShowsTheDemo runs the demo to its end and finds its task, with its history, in the
// omoi dev that is started afterwards.
func TestDevShowsTheDemo(t *testing.T) {
	t.Parallel()
	r := newLaptop(t)
	demo := r.omoi("demo", "--json")
	require.Zero(t, demo.code, "%s\n%s", demo.stdout, demo.stderr)
	require.Empty(t, processesWith(r.dir), "the demo left a process")
	require.Contains(t, demo.stdout, "126410606437752")

	info := r.dev()
	shown := r.omoi("show", "-", "--json")
	require.Zero(t, shown.code, shown.stderr)
	var got struct {
		ID       string      `json:"id"`
		Status   task.Status `json:"status"`
		Workflow string      `json:"temporal_url"`
	}
	require.NoError(t, json.Unmarshal([]byte(shown.stdout), &got))
	require.Equal(t, task.StatusCompleted, got.Status)
	require.Contains(t, got.Workflow, info.TemporalUIURL)
	temporal, err := client.Dial(client.Options{HostPort: info.TemporalAddress, Logger: nothing{}})
	require.NoError(t, err)
	defer temporal.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	run, err := temporal.DescribeWorkflowExecution(ctx, contract.TaskWorkflowID(got.ID), "")
	require.NoError(t, err)
	require.Positive(t, run.GetWorkflowExecutionInfo().GetHistoryLength())
}

// nothing is a log that is thrown away.
type nothing struct{}

func (nothing) Debug(string, ...any) {}
func (nothing) Info(string, ...any)  {}
func (nothing) Warn(string, ...any)  {}
func (nothing) Error(string, ...any) {}
