package postgres_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/postgres"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

// A duplicate is found by the index of keys, without reading the events of its sandbox.
func TestReadKeys_UsesIndex(t *testing.T) {
	t.Parallel()
	conn, err := pgtest.New(t).Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	_, err = conn.Exec(t.Context(), postgres.SQLPlans)
	require.NoError(t, err)
	rows, err := conn.Query(t.Context(), "EXPLAIN (COSTS OFF) "+strings.NewReplacer("$1", "'{a,b}'", "$2", "'{c,d}'").Replace(postgres.SQLReadKeys))
	require.NoError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	plan := strings.Join(lines, "\n")
	require.Contains(t, plan, "partition_month_sandbox_id_key_idx", plan)
	require.NotContains(t, plan, "Seq Scan", plan)
}
