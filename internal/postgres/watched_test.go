package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

// atWork returns a task with an active sandbox and its ID.
func (w world) atWork(box string) {
	w.t.Helper()
	a := w.task(w.project(1), "")
	w.exec(`INSERT INTO sandboxes (id, organization_id, task_id, attempt, provider, machine, state)
		VALUES ($1, $2, $3, 1, 'external', false, 'running')`, box, w.org, a.id)
	w.exec(`UPDATE tasks SET status = 'running', sandbox_id = $2 WHERE id = $1`, a.id, box)
}

// works stores an event that shows work, as ingest does.
func (w world) works(box, eventType, data string) {
	w.t.Helper()
	w.event(box, eventType, data)
	w.exec(`UPDATE sandboxes s SET last_work_at = e.created_at FROM sandbox_events e WHERE s.id = $1 AND e.sandbox_id = s.id AND e.sequence = s.last_sequence`, box)
}

// One query for all active sandboxes returns the same as a query for each.
func TestActiveLife(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	boxes := []string{"silent", "beats", "ended", "went-on", "spec-1"}
	for _, box := range boxes {
		w.atWork(box)
	}
	w.event("beats", "heartbeat", `{"status": "old"}`)
	w.works("beats", "agent.tool_use", `{}`)
	w.event("beats", "agent.heartbeat", `{"status": "running"}`)
	w.works("ended", "agent.tool_use", `{}`)
	w.works("ended", "agent.completed", `{}`)
	w.event("ended", "agent.heartbeat", `{"status": "waiting"}`)
	w.works("went-on", "agent.completed", `{}`)
	w.works("went-on", "agent.tool_use", `{}`)
	w.exec(`UPDATE sandboxes SET last_work_at = last_work_at - interval '20 minutes' WHERE id = 'beats'`)
	w.exec(`INSERT INTO spec_progress (sandbox_id, spec_id, current_phase, progress, started, completed, last_completed, last_completed_at)
		VALUES ('spec-1', 's', 'explore', 16, '{"explore": "2026-11-22T09:00:00Z"}', '{"explore": "2026-11-22T09:10:00Z"}', 'explore', now() - interval '1 hour')`)
	w.atWork("gone")
	w.exec(`UPDATE sandboxes SET ended_at = now() WHERE id = 'gone'`)

	store := postgres.New(w.pool, postgres.Config{})
	all, err := store.ActiveLife(t.Context(), w.org)
	require.NoError(t, err)
	require.Len(t, all, len(boxes))
	seen := map[string]client.Life{}
	for n, life := range all {
		require.Equal(t, boxes[n], life.Activity.SandboxID)
		phases, activity, err := store.PhaseStatus(t.Context(), boxes[n])
		require.NoError(t, err)
		require.InDelta(t, activity.IdleSeconds, life.Activity.IdleSeconds, time.Minute.Seconds())
		require.InDelta(t, phases.StuckSeconds, life.Phases.StuckSeconds, time.Minute.Seconds())
		activity.IdleSeconds, phases.StuckSeconds = life.Activity.IdleSeconds, life.Phases.StuckSeconds
		require.Equal(t, client.Life{Activity: activity, Phases: phases}, life)
		seen[boxes[n]] = life
	}
	require.Equal(t, "running", *seen["beats"].Activity.HeartbeatStatus)
	require.True(t, seen["beats"].Activity.IsStuck)
	require.True(t, seen["ended"].Activity.HasCompleted)
	require.False(t, seen["went-on"].Activity.HasCompleted)
	require.True(t, seen["spec-1"].Phases.Stuck)
	other, err := store.ActiveLife(t.Context(), task.NewID())
	require.NoError(t, err)
	require.Empty(t, other)
}
