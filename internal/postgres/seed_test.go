package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

// The test runs the SQL of the seed document unchanged.
func TestSeedStatements(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	live := w.running(a)
	w.event(live.SandboxID, event.AgentStarted, `{"agent_id": "agent-7"}`)
	w.write(a, contract.Projection{Ordinal: 4, Status: task.StatusRunning, SandboxID: live.SandboxID})
	rows, err := w.pool.Query(t.Context(), `SELECT id, sandbox_id, event_type, created_at
   FROM sandbox_events
   ORDER BY created_at DESC
   LIMIT 20;`)
	require.NoError(t, err)
	events, err := pgx.CollectRows(rows, pgx.RowToMap)
	require.NoError(t, err)
	require.Equal(t, live.SandboxID, events[0]["sandbox_id"])
	require.Equal(t, ingest.EventID(live.SandboxID, int64(len(events))), events[0]["id"], "the ID of the wire")

	w.finish(a, live, 5, task.StatusCompleted)
	rows, err = w.pool.Query(t.Context(), `SELECT id, status, sandbox_id, assigned_agent_id
   FROM tasks
   WHERE sandbox_id IS NOT NULL
   ORDER BY created_at DESC
   LIMIT 5;`)
	require.NoError(t, err)
	tasks, err := pgx.CollectRows(rows, pgx.RowToMap)
	require.NoError(t, err)
	require.Equal(t, "completed", tasks[0]["status"])
	require.Equal(t, live.SandboxID, tasks[0]["sandbox_id"], "the last sandbox, after the end")
	require.Equal(t, "agent-7", tasks[0]["assigned_agent_id"])
}

// The sandbox stays with each kind of end and is cleared for a retry only.
func TestTask_NamesLastSandbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	project := w.project(5)
	for _, status := range []task.Status{task.StatusCompleted, task.StatusFailed, task.StatusCancelled} {
		a := w.task(project, "")
		live := w.running(a)
		w.finish(a, live, 5, status)
		require.Equal(t, live.SandboxID, w.row(a.id, "sandbox_id"), status)
	}
	waits := w.task(project, "")
	live := w.running(waits)
	end := &contract.AttemptEnd{Number: 1, Outcome: "failed"}
	w.write(waits, contract.Projection{Ordinal: 5, Status: task.StatusPending, Ended: end})
	require.Empty(t, w.row(waits.id, "sandbox_id"), "between two attempts")
	w.write(waits, contract.Projection{Ordinal: 6, Status: task.StatusCancelled})
	require.Equal(t, live.SandboxID, w.row(waits.id, "sandbox_id"), "cancelled between two attempts")

	gone := w.task(project, "")
	live = w.running(gone)
	require.NoError(t, postgres.New(w.pool, postgres.Config{}).Abandon(t.Context(), gone.id, "terminated"))
	require.Equal(t, live.SandboxID, w.row(gone.id, "sandbox_id"), "its workflow was terminated")

	never := w.task(project, "")
	w.load(never)
	w.write(never, contract.Projection{Ordinal: 1, Status: task.StatusCancelled})
	require.Empty(t, w.row(never.id, "sandbox_id"))
}

// An agent is found by the ID that it reported, else by the sandbox ID.
func TestResolve_AgentID(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	live := w.begin(a, w.load(a).Ordinal+1)
	w.write(a, contract.Projection{Ordinal: 2, Status: task.StatusAssigned, SandboxID: live.SandboxID})
	require.Equal(t, live.SandboxID, w.row(a.id, "assigned_agent_id"))
	w.event(live.SandboxID, event.AgentStarted, `{"agent_id": "agent-7"}`)
	w.write(a, contract.Projection{Ordinal: 9, Status: task.StatusRunning, SandboxID: live.SandboxID})
	require.Equal(t, "agent-7", w.row(a.id, "assigned_agent_id"))
	for _, id := range []string{"agent-7", live.SandboxID, a.id} {
		found, err := postgres.New(w.pool, postgres.Config{}).Resolve(t.Context(), w.org, id)
		require.NoError(t, err, id)
		require.Equal(t, live.SandboxID, found, id)
	}

	other := w.task(w.project(5), "")
	liar := w.begin(other, w.load(other).Ordinal+1)
	w.write(other, contract.Projection{Ordinal: 2, Status: task.StatusAssigned, SandboxID: liar.SandboxID})
	w.event(liar.SandboxID, event.AgentStarted, `{"agent_id": "`+a.id+`"}`)
	w.write(other, contract.Projection{Ordinal: 9, Status: task.StatusRunning, SandboxID: liar.SandboxID})
	found, err := postgres.New(w.pool, postgres.Config{}).Resolve(t.Context(), w.org, a.id)
	require.NoError(t, err)
	require.Equal(t, live.SandboxID, found, "an agent that calls itself by another task's ID does not take its place")
}
