package e2e_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

// TestFiveOfAProject fills the five slots of a project; those behind them wait with position
// and reason and start in their order as slots come free. Another project is not held up.
func TestFiveOfAProject(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t, map[string]string{"OMOI_TASK_HEARTBEAT_TIMEOUT": "60s", "OMOI_REAPER_INTERVAL": "1h"}).up()
	repo := r.repo()
	var running []task.Task
	for range 5 {
		running = append(running, r.outside(repo))
	}
	agents := make([]*agent, 5)
	for i, made := range running {
		agents[i] = r.agentOf(made.ID, 1)
		require.True(t, r.task(made.ID).HoldsSlot)
	}
	sixth, seventh, eighth := r.outside(repo), r.outside(repo), r.outside(repo)
	r.waits(sixth.ID, 1)
	r.waits(seventh.ID, 2)
	r.waits(eighth.ID, 3)
	r.agentOf(r.outside(r.repo()).ID, 1).completes() // of another project

	agents[3].completes()
	r.agentOf(sixth.ID, 1)
	freed, taken := r.task(running[3].ID), r.task(sixth.ID)
	require.Equal(t, task.StatusCompleted, freed.Status)
	require.True(t, taken.HoldsSlot)
	require.Nil(t, taken.QueuePosition)
	require.Empty(t, taken.QueueReason.Code)
	require.False(t, taken.Attempts[0].StartedAt.Before(*freed.CompletedAt), "it began before the slot was free")
	r.waits(seventh.ID, 1)
	r.waits(eighth.ID, 2)

	// one that gives up its place lets the next one move up
	_, _, err := r.api.Cancel(ctx, seventh.ID, "not needed")
	require.NoError(t, err)
	r.ends(seventh.ID, task.StatusCancelled)
	r.waits(eighth.ID, 1)
	require.Equal(t, 5, r.count(`SELECT count(*) FROM slots s JOIN tasks t ON t.id = s.task_id WHERE t.id <> $1 AND t.project_id = $2`,
		seventh.ID, sixth.ProjectID))

	// a slot that a cancel frees is as good as one that a completion frees
	_, _, err = r.api.Cancel(ctx, running[0].ID, "enough")
	require.NoError(t, err)
	r.agentOf(eighth.ID, 1)
	for _, i := range []int{1, 2, 4} {
		agents[i].completes()
	}
	r.agentOf(sixth.ID, 1).completes()
	r.agentOf(eighth.ID, 1).completes()
	for _, id := range []string{running[1].ID, running[2].ID, running[4].ID, sixth.ID, eighth.ID} {
		r.ends(id, task.StatusCompleted)
	}
	require.Zero(t, r.task(seventh.ID).AttemptCount)
	r.eventually("nobody holds a slot", func() bool { return r.count(`SELECT count(*) FROM slots`) == 0 })
	r.noLeaks()
}

// waits wants a task to wait for a slot at a position, with the reason.
func (r *rig) waits(taskID string, position int) {
	r.t.Helper()
	got := r.until(taskID, sprintf("waits at position %d", position), func(t task.Task) bool {
		return t.QueuePosition != nil && *t.QueuePosition == position
	})
	require.Equal(r.t, task.StatusPending, got.Status)
	require.Equal(r.t, "waiting for a slot: 5 of 5 used in this project", got.QueueReason.Message)
	require.Contains(r.t, got.Why, "slot")
	require.False(r.t, got.HoldsSlot)
	require.Empty(r.t, got.Attempts)
}
