package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

func count(t testing.TB, pool *pgxpool.Pool, query string, args ...any) int {
	t.Helper()
	return one[int](t, pool, query, args...)
}

// one reads a single value.
func one[T any](t testing.TB, pool *pgxpool.Pool, query string, args ...any) T {
	t.Helper()
	var value T
	require.NoError(t, pool.QueryRow(t.Context(), query, args...).Scan(&value))
	return value
}

func exec(t testing.TB, pool *pgxpool.Pool, statement string, args ...any) {
	t.Helper()
	_, err := pool.Exec(t.Context(), statement, args...)
	require.NoError(t, err)
}
