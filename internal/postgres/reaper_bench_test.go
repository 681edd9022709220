package postgres_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// The queries of a reaper pass must stay under 5 s with 10,000 ledger rows and 1,000 existing sandboxes. Half of these
// are unknown, so that rows are written for them too.
func BenchmarkReaperRound(b *testing.B) {
	w := newWorld(b, postgres.Config{})
	const rows, alive = 10_000, 1_000
	w.exec(`INSERT INTO organizations (id, name) VALUES (gen_random_uuid(), 'other')`)
	listed := w.fleet(rows, alive)
	b.ResetTimer()
	for round := range b.N {
		for n := range alive / 2 { // new unknown sandboxes in each pass
			listed[n].Labels.SandboxID = "stranger-" + strconv.Itoa(round) + "-" + strconv.Itoa(n)
		}
		w.round(listed)
	}
}

// fleet writes a ledger whose newest rows exist, and returns the list of their provider.
func (w world) fleet(rows, alive int) []sandbox.Sandbox {
	w.t.Helper()
	w.hostSeen("h", []string{"local"}, 0)
	t := w.task(w.project(5), "status = 'running'")
	w.exec(`INSERT INTO sandboxes (id, organization_id, task_id, attempt, provider, host_bound, machine, host_id, state, created_at, ended_at, gone_at, verified_at)
		SELECT 'box-' || n, $1, $2, n, 'local', true, true, 'h', CASE WHEN n > $3 - $4 THEN 'running' ELSE 'gone' END, now() - interval '1 hour',
			CASE WHEN n <= $3 - $4 THEN now() - interval '1 hour' END, CASE WHEN n <= $3 - $4 THEN now() END, CASE WHEN n <= $3 - $4 THEN now() END
		FROM generate_series(1, $3::int) n`, w.org, t.id, rows, alive)
	w.exec(`INSERT INTO attempts (task_id, number, sandbox_id, run_id, ordinal, ended_at)
		SELECT $1, n, 'box-' || n, 'r', n, CASE WHEN n <= $2::int - $3::int THEN now() - interval '1 hour' END FROM generate_series(1, $2::int) n`, t.id, rows, alive)
	w.exec(`ANALYZE sandboxes, attempts`)
	var listed []sandbox.Sandbox
	for n := rows - alive + 1; n <= rows; n++ {
		listed = append(listed, sandbox.Sandbox{
			Labels: sandbox.Labels{Installation: "i", TaskID: t.id, Attempt: n, SandboxID: "box-" + strconv.Itoa(n)}, ProviderID: task.NewSandboxID(),
			CreatedAt: time.Now().Add(-time.Hour),
		})
	}
	return listed
}

// round runs the queries of the reaper's activities.
func (w world) round(listed []sandbox.Sandbox) {
	w.t.Helper()
	ctx, grace := w.t.Context(), 2*time.Minute
	_, err := w.store.OpenTasks(ctx, time.Minute)
	require.NoError(w.t, err)
	_, err = w.store.Targets(ctx)
	require.NoError(w.t, err)
	_, err = w.store.LedgerOrphans(ctx, grace)
	require.NoError(w.t, err)
	_, _, err = w.store.Overdue(ctx, grace)
	require.NoError(w.t, err)
	require.NoError(w.t, w.store.Found(ctx, "h", listed))
	orphans, err := w.store.Unowned(ctx, listed, grace)
	require.NoError(w.t, err)
	require.Len(w.t, orphans, len(listed)/2)
	require.NoError(w.t, w.store.Adopt(ctx, "local", "h", listed[:len(listed)/2]))
	require.NoError(w.t, w.store.Grant(ctx))
	_, err = w.store.IsIdle(ctx)
	require.NoError(w.t, err)
}
