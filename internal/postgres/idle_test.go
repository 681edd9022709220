package postgres_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/pgtest"
	"github.com/omoi-dev/omoi/internal/postgres"
)

func TestATransactionThatStandsStillEndsItsSession(t *testing.T) {
	t.Parallel()
	address := pgtest.URL(t)
	for where, want := range map[string]string{
		address: "30s",
		withParameter(t, address, "idle_in_transaction_session_timeout", "100ms"): "100ms",
	} {
		pool, err := postgres.Connect(t.Context(), where)
		require.NoError(t, err)
		t.Cleanup(pool.Close)
		var set string
		require.NoError(t, pool.QueryRow(t.Context(), `SHOW idle_in_transaction_session_timeout`).Scan(&set))
		require.Equal(t, want, set)
	}
}

func withParameter(t *testing.T, address, name, value string) string {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	query := u.Query()
	query.Set(name, value)
	u.RawQuery = query.Encode()
	return u.String()
}
