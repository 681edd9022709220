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

// traced keeps the SQL of the last query.
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

// plan returns the plan of the query that run runs.
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

// TestUnverifiedSandboxes_AreCountedByIndex plans the queries of BeginAttempt on the sandbox ledger, which grows with each
// attempt.
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
