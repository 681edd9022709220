package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// The price of the time when a sandbox was made stays with it, and so does that time.
func TestASandboxKeepsItsPrice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{Prices: map[string]task.Price{"local": {PerSecond: 2, Currency: "EUR"}}})
	_, id := w.box("local")
	require.Nil(t, w.ledger(id).MadeAt)
	require.Nil(t, w.ledger(id).Cost)
	require.NoError(t, w.store.SandboxRunning(t.Context(), id, sandbox.Sandbox{}))
	made := w.ledger(id).MadeAt
	require.NotNil(t, made)

	w.exec(`UPDATE sandboxes SET made_at = made_at - interval '1 hour' WHERE id = $1`, id)
	dearer := postgres.New(w.pool, postgres.Config{Prices: map[string]task.Price{"local": {PerSecond: 9, Currency: "USD"}}}).Life()
	require.NoError(t, dearer.SandboxRunning(t.Context(), id, sandbox.Sandbox{}))
	row := w.ledger(id)
	require.True(t, row.MadeAt.Before(*made))
	require.Equal(t, "EUR", row.Cost.Currency)
	require.InDelta(t, 2*row.SecondsAlive, row.Cost.Amount, 1e-6)
	require.Greater(t, row.SecondsAlive, 3599.0)
}

func TestASandboxWithoutAPrice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{Prices: map[string]task.Price{"daytona": {PerSecond: 2, Currency: "EUR"}}})
	_, id := w.box("local")
	require.NoError(t, w.store.SandboxRunning(t.Context(), id, sandbox.Sandbox{}))
	require.Nil(t, w.ledger(id).Cost)
}
