package e2e_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/volume"
	dockerclient "github.com/docker/docker/client"
	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
	dockertest "github.com/omoi-dev/omoi/internal/testkit/docker"
)

// startEngine starts a Docker engine of the test's own, or skips loudly.
func startEngine(t *testing.T) (*dockertest.Engine, *dockerclient.Client) {
	t.Helper()
	engine, err := dockertest.Start(context.Background())
	if errors.Is(err, dockertest.ErrMissing) {
		t.Skip("SKIPPED: ", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, engine.Close()) })
	c, err := dockerclient.NewClientWithOpts(dockerclient.WithHost(engine.Host), dockerclient.WithAPIVersionNegotiation())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return engine, c
}

// dockerSettings are those of a rig at an engine. Its containers have no network: agents in
// them reach the API by its socket.
func dockerSettings(t *testing.T, engine *dockertest.Engine) map[string]string {
	t.Helper()
	dir, err := os.MkdirTemp("", "omoi-e2e-socket-") //nolint:usetesting // t.TempDir is closed to the users of sandboxes
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return map[string]string{
		"DOCKER_HOST": engine.Host, "OMOI_DOCKER_IMAGE": dockertest.Image, "OMOI_DOCKER_PULL": "never", "OMOI_DOCKER_NETWORK": "none",
		"OMOI_DEV_POSTGRES_DATA_ROOT": dir, // where the API's socket is
	}
}

// newDockerRig is a rig with an engine of its own.
func newDockerRig(t *testing.T) (*rig, *dockerclient.Client) {
	t.Helper()
	engine, c := startEngine(t)
	return newRig(t, dockerSettings(t, engine)).up(), c
}

// inDocker asks for a container.
func inDocker(in *apiclient.CreateTaskRequest) { in.Provider = task.ProviderDocker }

// TestTasksRunInContainers runs one task to its pull request, and ends another in mid-run after
// its worker was killed: its work is saved. Nothing stays at the engine.
func TestTasksRunInContainers(t *testing.T) {
	t.Parallel()
	r, engine := newDockerRig(t)
	repo := r.repo()
	hangs := r.submit(repo, script(stepUnsaved, stepHang), inDocker)
	made := r.submit(repo, script(stepWrite, stepCommit, `{"bash":{"command":"id -u; ls /sys/class/net"}}`,
		`{"complete":{"output":"{{last_output}}","success":true}}`), inDocker)
	got := r.ends(made.ID, task.StatusCompleted)
	require.Equal(t, 1, got.AttemptCount)
	show := r.run("git", "-C", repo, "show", text(got.Branch)+":hello.txt")
	require.Equal(t, "hello\n", show.stdout, show.stderr)
	require.Contains(t, string(got.Result), "1000\\nlo", "an ordinary user without network")
	require.Equal(t, 1, r.count(`SELECT count(*) FROM sandboxes WHERE id = $1 AND provider = 'docker' AND isolation @> '{docker,netns}'`, got.Attempts[0].SandboxID))

	box := text(r.running(hangs.ID).SandboxID)
	r.eventually("there is work to save", func() bool { return r.stored(box, "agent.tool_use") >= 1 })
	r.kill("worker")
	r.startWorker()
	_, _, err := r.api.Cancel(context.Background(), hangs.ID, "enough")
	require.NoError(t, err)
	r.ends(hangs.ID, task.StatusCancelled)
	r.noLeaks()
	r.gapless()
	require.Equal(t, 1, r.count(`SELECT count(*) FROM sandboxes WHERE id = $1 AND salvage ->> 'kind' = 'ref'`, box))
	r.engineIsEmpty(engine)
}

// engineIsEmpty holds the engine to P1.
func (r *rig) engineIsEmpty(engine *dockerclient.Client) {
	r.t.Helper()
	require.Zero(r.t, dockerAlive(r.t, engine))
}

// dockerAlive counts what is left of sandboxes at the engine, whoever made it.
func dockerAlive(t *testing.T, engine *dockerclient.Client) int {
	t.Helper()
	containers, err := engine.ContainerList(context.Background(), container.ListOptions{
		All: true, Filters: filters.NewArgs(filters.Arg("label", "omoi.installation")),
	})
	require.NoError(t, err)
	volumes, err := engine.VolumeList(context.Background(), volume.ListOptions{})
	require.NoError(t, err)
	return len(containers) + len(volumes.Volumes)
}
