package postgres_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/postgres"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

func TestConnect_EndsIdleTransactions(t *testing.T) {
	t.Parallel()
	settled(t, "idle_in_transaction_session_timeout", "30s", "100ms")
}

// With jit, admission would take seconds instead of milliseconds.
func TestConnect_DisablesJIT(t *testing.T) {
	t.Parallel()
	settled(t, "jit", "off", "on")
}

// settled checks that a setting has omoi's value, or the value of the URL if the URL sets one.
func settled(t *testing.T, name, ours, other string) {
	t.Helper()
	address := pgtest.URL(t)
	for where, want := range map[string]string{address: ours, withParameter(t, address, name, other): other} {
		pool, err := postgres.Connect(t.Context(), where)
		require.NoError(t, err)
		t.Cleanup(pool.Close)
		var set string
		require.NoError(t, pool.QueryRow(t.Context(), `SELECT current_setting($1)`, name).Scan(&set))
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
