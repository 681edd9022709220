package postgres_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

// traced records the SQL of the last query.
type traced struct {
	*pgx.Conn

	sql  string
	args []any
}

func (c *traced) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	c.sql, c.args = sql, args
	return c.Conn.Query(ctx, sql, args...)
}

func (c *traced) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	c.sql, c.args = sql, args
	return c.Conn.QueryRow(ctx, sql, args...)
}

// plan returns the plan of the query that run executes.
func plan(t *testing.T, conn *pgx.Conn, run func(*db.Queries)) string {
	t.Helper()
	c := &traced{Conn: conn}
	run(db.New(c))
	rows, err := conn.Query(t.Context(), "EXPLAIN (COSTS OFF) "+c.sql, c.args...)
	require.NoError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return strings.Join(lines, "\n")
}

// The sandbox ledger grows with each attempt, so the queries of BeginAttempt must use its indexes.
func TestUnverifiedSandboxes_AreCountedByIndex(t *testing.T) {
	t.Parallel()
	conn, err := pgtest.New(t).Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	_, err = conn.Exec(t.Context(), postgres.SQLPlans)
	require.NoError(t, err)
	for name, run := range map[string]func(*db.Queries){
		"Unverified":       func(q *db.Queries) { _, _ = q.Unverified(t.Context(), "local") },
		"UnverifiedByHost": func(q *db.Queries) { _, _ = q.UnverifiedByHost(t.Context(), time.Minute, "local") },
		"ChooseHost":       func(q *db.Queries) { _, _ = q.ChooseHost(t.Context(), time.Minute, "local") },
	} {
		require.Contains(t, plan(t, conn.Conn(), run), "sandboxes_unverified", name)
	}
}

// A page counts tasks every few seconds: the count must not read their rows.
func TestCountTasks_ReadsOneIndex(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	w.task(w.project(5), "")
	conn, err := w.pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	for _, statement := range []string{
		`SET session_replication_role = replica`, // without triggers
		`INSERT INTO tasks SELECT (jsonb_populate_record(t, jsonb_build_object('id', gen_random_uuid(), 'key', 'X-' || n,
			'description', repeat(md5(n::text), 30)))).* FROM (SELECT tasks AS t FROM tasks LIMIT 1) s, generate_series(1, 2000) n`,
		`VACUUM FULL tasks`, // freezes rows, so that the next one marks all as visible, whatever else runs
		`VACUUM ANALYZE tasks`,
	} {
		_, err = conn.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	got := plan(t, conn.Conn(), func(q *db.Queries) {
		_, _ = q.CountTasks(t.Context(), db.CountTasksParams{OrganizationID: w.org})
	})
	require.Contains(t, got, "Index Only Scan using tasks_counts")
}

// The sandbox ledger grows with each attempt: neither a list nor the usage of the last days reads all of it.
func TestSandboxes_AreListedByIndex(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	w.load(a)
	w.begin(a, 1)
	conn, err := w.pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	for _, statement := range []string{
		`SET session_replication_role = replica`, // without triggers
		`INSERT INTO sandboxes SELECT (jsonb_populate_record(s, jsonb_build_object('id', 'x' || n, 'task_id', gen_random_uuid(),
			'ended_at', now(), 'verified_at', now(), 'state', 'gone', 'created_at', now() - n * interval '1 hour'))).*
			FROM (SELECT sandboxes AS s FROM sandboxes LIMIT 1) s, generate_series(1, 10000) n`,
		`ANALYZE sandboxes`,
	} {
		_, err = conn.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	for name, run := range map[string]func(*db.Queries){
		"ReadSandboxes": func(q *db.Queries) {
			_, _ = q.ReadSandboxes(t.Context(), db.ReadSandboxesParams{OrganizationID: &w.org, MaxRows: 51})
		},
		"UsageByDay": func(q *db.Queries) {
			_, _ = q.UsageByDay(t.Context(), db.UsageByDayParams{OrganizationID: &w.org, Since: time.Now().AddDate(0, 0, -7)})
		},
	} {
		require.Contains(t, plan(t, conn.Conn(), run), "sandboxes_list", name)
	}
	for name, run := range map[string]func(*db.Queries){
		"UnmeteredOfOrganization": func(q *db.Queries) { _, _ = q.UnmeteredOfOrganization(t.Context(), w.org) },
		"SandboxCapacity":         func(q *db.Queries) { _, _ = q.SandboxCapacity(t.Context(), &w.org) },
		"OldestUnverified":        func(q *db.Queries) { _, _ = q.OldestUnverified(t.Context(), &w.org) },
	} {
		require.NotContains(t, plan(t, conn.Conn(), run), "Seq Scan on sandboxes", name)
	}
}
