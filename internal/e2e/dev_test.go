package e2e_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	apiclient "github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/devstack"
	"github.com/omoi-dev/omoi/internal/task"
)

// devRig is a home for `omoi dev` with nothing started in it.
func devRig(t *testing.T) *rig {
	t.Helper()
	temporal, err := devstack.FindTemporal("")
	if err != nil {
		t.Skip("SKIPPED: no temporal program; make temporal builds it")
	}
	if devstack.FindPostgres("", "") == "" {
		t.Skip("SKIPPED: no PostgreSQL programs on this machine")
	}
	dir, err := os.MkdirTemp("", "omoi-e2e-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	r := &rig{t: t, dir: dir, procs: make(map[string]*process)}
	t.Cleanup(r.close)
	home := filepath.Join(dir, "home")
	require.NoError(t, os.Mkdir(home, 0o755))
	r.env = map[string]string{
		"OMOI_HOME": home, "OMOI_DEV_POSTGRES_DATA_ROOT": filepath.Join(dir, "root"), "OMOI_SANDBOX_DIR": filepath.Join(dir, "sandboxes"),
		"OMOI_DEV_TEMPORAL_BIN": temporal, "OMOI_AGENT_HEARTBEAT": "300ms", "OMOI_TASK_HEARTBEAT_TIMEOUT": "5s",
		"OMOI_RELAY_INTERVAL": "100ms", "OMOI_RELAY_LEASE": "3s", "OMOI_WORKER_HOST_BEAT": "1s", "OMOI_TASK_RETRY_BASE": "200ms",
		"PATH": os.Getenv("PATH"), "HOME": home,
	}
	maps.Copy(r.env, freePorts())
	return r
}

// freePorts let omoi dev take any.
func freePorts() map[string]string {
	return map[string]string{"OMOI_API_PORT": "0", "OMOI_DEV_TEMPORAL_PORT": "0", "OMOI_DEV_TEMPORAL_UI_PORT": "0"}
}

// dev starts `omoi dev` and waits until everything answers.
func (r *rig) dev() devstack.Info {
	r.t.Helper()
	r.start("dev", nil, "dev")
	pid := r.procs["dev"].cmd.Process.Pid
	var info devstack.Info
	r.eventually("omoi dev is ready", func() bool {
		var err error
		if info, err = devstack.ReadInfo(r.env["OMOI_HOME"]); err != nil || info.PID != pid {
			return false
		}
		r.api = apiclient.New(info.APIURL, "")
		ready, err := r.api.Ready(context.Background())
		return err == nil && ready.Ready
	})
	if r.pool != nil {
		r.pool.Close()
	}
	var err error
	r.pool, err = pgxpool.New(context.Background(), info.DatabaseURL)
	require.NoError(r.t, err)
	r.t.Cleanup(r.pool.Close)
	return info
}

// TestDevIsKilledAndGoesOn kills omoi dev in mid-run: the next start goes on with the same
// attempt, on the same ports; a second one beside it is refused; Ctrl-C leaves nothing.
func TestDevIsKilledAndGoesOn(t *testing.T) {
	t.Parallel()
	r := devRig(t)
	info := r.dev()
	for _, value := range []string{info.APIURL, info.TemporalAddress, info.TemporalNamespace, info.TemporalUIURL, info.DatabaseURL} {
		require.NotEmpty(t, value, "dev.json: %+v", info)
	}
	second := r.omoi("dev")
	require.Equal(t, 1, second.code, second.stderr)
	require.Contains(t, second.stderr, info.APIURL)
	require.Contains(t, second.stderr, "OMOI_HOME")

	repo := r.repo()
	made := r.submit(repo, script(stepWrite, `{"bash":{"command":"sleep 6","timeout_s":60}}`, stepCommit, stepComplete))
	r.running(made.ID)
	r.kill("dev")
	again := r.dev()
	require.Equal(t, info.APIURL, again.APIURL)
	require.Equal(t, info.TemporalUIURL, again.TemporalUIURL)
	got := r.ends(made.ID, task.StatusCompleted)
	require.Equal(t, 1, got.AttemptCount)
	r.noLeaks()
	r.gapless()

	p := r.procs["dev"]
	r.pool.Close()
	r.signal("dev", syscall.SIGINT)
	require.Contains(t, []int{0, 130}, p.cmd.ProcessState.ExitCode())
	require.Empty(t, processesWith(r.dir), "Ctrl-C left a process")
	require.NoFileExists(t, devstack.InfoPath(r.env["OMOI_HOME"]))
	none := r.omoi("ps")
	require.Equal(t, 3, none.code)
	require.Contains(t, none.stderr, "omoi dev")
}

// TestTwoHomesSideBySide runs two installations on one machine; neither sees the other.
func TestTwoHomesSideBySide(t *testing.T) {
	t.Parallel()
	one, two := devRig(t), devRig(t)
	first, second := one.dev(), two.dev()
	require.NotEqual(t, first.APIURL, second.APIURL)
	require.NotEqual(t, first.TemporalAddress, second.TemporalAddress)
	a := one.submit(one.repo(), script(stepWrite, stepCommit, stepComplete))
	b := two.submit(two.repo(), script(stepWrite, stepHang))
	one.ends(a.ID, task.StatusCompleted)
	two.running(b.ID)
	one.noLeaks()
	one.signal("dev", syscall.SIGINT)
	require.Equal(t, task.StatusRunning, two.task(b.ID).Status, "the end of one touched the other")
	require.Equal(t, 1, two.count(`SELECT count(*) FROM tasks`))
	_, _, err := two.api.Cancel(context.Background(), b.ID, "seen")
	require.NoError(t, err)
	two.ends(b.ID, task.StatusCancelled)
	two.noLeaks()
}

// TestDevShowsTheDemo runs the demo to its end and finds its task, with its history, in the
// omoi dev that is started afterwards.
func TestDevShowsTheDemo(t *testing.T) {
	t.Parallel()
	r := devRig(t)
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
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
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
