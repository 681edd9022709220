package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

func TestDatabasesAreApartAndMigrated(t *testing.T) {
	t.Parallel()
	one, other := pgtest.New(t), pgtest.New(t)
	_, err := one.Exec(t.Context(), "INSERT INTO installation (id) VALUES ('one')")
	require.NoError(t, err)
	var rows int
	require.NoError(t, other.QueryRow(t.Context(), "SELECT count(*) FROM installation").Scan(&rows))
	require.Zero(t, rows)
}
