package taskcmd_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestCancel_OlderThan(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	young, old, done := aTask(idA, task.StatusRunning), aTask(idB, task.StatusPending), aTask(idC, task.StatusCompleted)
	old.CreatedAt, done.CreatedAt = time.Now().Add(-48*time.Hour), time.Now().Add(-48*time.Hour)
	f.tasks = []client.Task{young, old, done}
	got := f.omoi("cancel", "--older-than", "24h")
	require.Equal(t, 4, got.code)
	require.Contains(t, got.err, "1 task would be cancelled, with their work saved. Next: repeat the command with --yes")
	require.Empty(t, f.asked)

	got = f.omoi("cancel", "--older-than", "24h", "--yes", "--reason", "too old")
	require.Zero(t, got.code, got.err)
	require.Equal(t, []string{"cancel " + idB + " too old"}, f.asked)
	require.Equal(t, 2, f.omoi("cancel", "--older-than", "24h", "-").code)
	require.Equal(t, 2, f.omoi("cancel", "--yes", "-").code)
	require.Equal(t, 2, f.omoi("cancel", "--older-than", "0s").code)
	require.Equal(t, 2, f.omoi("cancel").code)
}

func TestCleanup_CancelsRunningTasksOnly(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	const works, over, done = "aaaaaaaaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbbbbbbbb", "cccccccccccccccccccccccccc"
	at := aTask(idA, task.StatusRunning)
	at.SandboxID = new(works)
	f.tasks = []client.Task{at, aTask(idB, task.StatusCompleted)}
	old := time.Now().Add(-2 * time.Hour)
	f.boxes = []client.Sandbox{
		{ID: works, TaskID: idA, Provider: "local", State: task.SandboxRunning, CreatedAt: old},
		{ID: over, TaskID: idA, Provider: "local", State: task.SandboxDeleting, CreatedAt: old},
		{ID: done, TaskID: idB, Provider: "local", State: task.SandboxRunning, CreatedAt: old},
		{ID: "unchanged-worker", Provider: task.ProviderBare, State: task.SandboxRunning},
	}
	got := f.omoi("sandbox", "cleanup")
	require.Equal(t, 4, got.code, "a list")
	require.Contains(t, got.out, "would be cancelled")
	require.Contains(t, got.err, "Next: omoi sandbox cleanup <sandbox> --yes")
	require.Equal(t, 2, f.omoi("sandbox", "cleanup", "--yes").code, "of which?")
	require.Equal(t, 2, f.omoi("sandbox", "cleanup", "--older-than", "-1h", "--yes").code, "that would be all of them")
	require.Equal(t, 4, f.omoi("sandbox", "cleanup", "--all").code)
	require.Zero(t, f.omoi("sandbox", "cleanup", "--older-than", "3h", "--yes").code)
	require.Zero(t, f.omoi("sandbox", "cleanup", done, "omoi-"+over, "--yes").code)
	require.Empty(t, f.asked, "neither young ones nor those whose work is over")

	require.Zero(t, f.omoi("sandbox", "cleanup", "--all", "--yes").code)
	require.Equal(t, []string{"cancel " + idA + " omoi sandbox cleanup"}, f.asked, "a completed task is never touched")
	require.Equal(t, 1, f.omoi("sandbox", "cleanup", "zzzz", "--yes").code)
	require.Equal(t, 2, f.omoi("sandbox", "cleanup", "--all", "zzzz").code)
}
