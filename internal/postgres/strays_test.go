package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

// takenOver returns the task as seen by a run that was reset to a point after loading and before an open attempt.
func (w world) takenOver(a asked, ordinal int64) asked {
	w.t.Helper()
	a.run = "run-" + task.NewSandboxID()
	got, err := w.writeAs(a, contract.Projection{Ordinal: ordinal, Status: task.StatusPending}, a.run, true)
	require.NoError(w.t, err)
	require.False(w.t, got.Fenced)
	return a
}

// A run that was reset to before an attempt ends that attempt, and the next one waits for the deletion of its sandbox.
func TestBeginAttempt_AfterReset(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{Settings: contract.Settings{CleanupWait: time.Hour}})
	a := w.task(w.project(5), "provider = 'daytona'")
	live := w.running(a)
	reset := w.takenOver(a, 50)
	in := contract.BeginAttemptInput{TaskID: a.id, FirstRunID: a.run, Ordinal: 51, Kind: "first"}
	for range 2 {
		begun, err := w.store.BeginAttempt(t.Context(), in, reset.run)
		require.NoError(t, err)
		require.Positive(t, begun.Wait)
		require.Equal(t, string(task.ReasonEarlierSandbox), begun.Reason)
	}
	require.Equal(t, "failed infrastructure", one[string](t, w.pool,
		`SELECT outcome || ' ' || failure_class FROM attempts WHERE task_id = $1 AND ended_at IS NOT NULL AND end_reason ->> 'code' = 'reset'`, a.id))
	left, err := w.store.Leftovers(t.Context(), a.id)
	require.NoError(t, err)
	require.Len(t, left, 1)
	orphans, err := w.store.LedgerOrphans(t.Context(), -time.Hour)
	require.NoError(t, err)
	require.Len(t, orphans, 1, "the reaper finds it too")
	w.settle(live.SandboxID, "gone")
	require.Equal(t, 2, w.begin(reset, in.Ordinal).Number)
}

func TestSaveTaskState_EndsOpenAttempts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "provider = 'daytona'")
	live := w.running(a)
	reset := w.takenOver(a, 50)
	_, err := w.writeAs(reset, contract.Projection{Ordinal: 51, Status: task.StatusCancelled, Reason: "enough"}, reset.run, true)
	require.NoError(t, err)
	left, err := w.store.Leftovers(t.Context(), a.id)
	require.NoError(t, err)
	require.Equal(t, live.SandboxID, left[0].SandboxID)
}

// The reaper cleans up the sandbox of an open attempt that no run can end.
func TestEndStrays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	alive, over, followed := w.task(w.project(5), ""), w.task(w.project(5), ""), w.task(w.project(5), "")
	w.running(alive)
	w.running(over)
	w.running(followed)
	w.exec(`UPDATE tasks SET status = 'cancelled' WHERE id = $1`, over.id)
	w.begin(followed, 60)
	w.exec(`UPDATE attempts SET ended_at = NULL WHERE task_id = $1`, followed.id)
	require.NoError(t, w.store.EndStrays(t.Context()))
	require.Equal(t, 0, count(t, w.pool, `SELECT count(*) FROM attempts WHERE task_id = $1 AND ended_at IS NOT NULL`, alive.id))
	require.Equal(t, 1, count(t, w.pool, `SELECT count(*) FROM attempts WHERE task_id = $1 AND ended_at IS NOT NULL`, over.id))
	require.Equal(t, 1, count(t, w.pool, `SELECT count(*) FROM attempts WHERE task_id = $1 AND number = 1 AND ended_at IS NOT NULL`, followed.id))
	require.Equal(t, 0, count(t, w.pool, `SELECT count(*) FROM attempts WHERE task_id = $1 AND number = 2 AND ended_at IS NOT NULL`, followed.id))
	require.Equal(t, 2, count(t, w.pool, `SELECT count(*) FROM sandboxes WHERE ended_at IS NOT NULL`))
	const why = `SELECT end_reason ->> 'code' FROM attempts WHERE task_id = $1 AND number = 1`
	require.Equal(t, string(task.ReasonTaskEnded), one[string](t, w.pool, why, over.id))
	require.Equal(t, string(task.ReasonReset), one[string](t, w.pool, why, followed.id))
}

// The queries of a reaper pass do not slow down with the number of attempts and sandboxes.
func TestReaper_UsesIndexes(t *testing.T) {
	t.Parallel()
	conn, err := pgtest.New(t).Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	_, err = conn.Exec(t.Context(), postgres.SQLPlans)
	require.NoError(t, err)
	for index, asked := range map[string]string{
		"attempts_open":      `SELECT FROM attempts WHERE ended_at IS NULL`,
		"sandboxes_verified": `SELECT FROM sandboxes WHERE verified_at > now() AND machine AND NOT host_bound`,
	} {
		rows, err := conn.Query(t.Context(), "EXPLAIN (COSTS OFF) "+asked)
		require.NoError(t, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		require.Contains(t, strings.Join(lines, "\n"), index)
	}
}
