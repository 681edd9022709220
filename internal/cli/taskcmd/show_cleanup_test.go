package taskcmd_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestShow_NamesKeys(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{aTask(idA, task.StatusCompleted)}
	f.tasks[0].TicketID = idB
	f.boxes = []client.Sandbox{{ID: boxID, Provider: task.ProviderLocal, TaskID: idA, TaskKey: "APP-12", Attempt: 1, State: task.SandboxIntended}}
	got := f.omoi("show", "-").out
	require.Contains(t, got, "Ticket        APP-T7\n")
	require.Regexp(t, `APP-12 #1 +requested`, got)
}

func TestShow_SaysThatCleanupIsInProgress(t *testing.T) {
	t.Parallel()
	f, now := newFake(t), time.Now()
	f.tasks = []client.Task{aTask(idA, task.StatusCompleted)}
	box := client.Sandbox{ID: boxID, Provider: task.ProviderLocal, TaskID: idA, Attempt: 1, State: task.SandboxDeleting, EndedAt: &now}
	for _, change := range []func(*client.Sandbox){func(*client.Sandbox) {}, func(b *client.Sandbox) { b.GoneAt = &now }} {
		changed := box
		change(&changed)
		f.boxes = []client.Sandbox{changed}
		require.Contains(t, f.omoi("show", "-").out, "Cleanup       in progress. Next: omoi receipt ")
	}
	box.VerifiedAt = &now
	f.boxes = []client.Sandbox{box}
	require.NotContains(t, f.omoi("show", "-").out, "Cleanup")
	box.VerifiedAt, box.EndedAt = nil, nil
	f.boxes, f.tasks[0].Status, f.tasks[0].SandboxID = []client.Sandbox{box}, task.StatusRunning, &box.ID
	require.NotContains(t, f.omoi("show", "-").out, "Cleanup")
}
