package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/cost"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// A sandbox keeps the price and the time of its creation.
func TestReceipt_KeepsPrice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{Prices: map[string]cost.SandboxPrice{"local": {PerSecond: 2, Currency: "EUR"}}})
	_, id := w.box("local")
	require.Nil(t, w.ledger(id).ProviderCreatedAt)
	require.Nil(t, w.ledger(id).Cost)
	require.NoError(t, w.store.SandboxRunning(t.Context(), id, sandbox.Sandbox{}))
	made := w.ledger(id).ProviderCreatedAt
	require.NotNil(t, made)

	w.exec(`UPDATE sandboxes SET made_at = made_at - interval '1 hour' WHERE id = $1`, id)
	dearer := postgres.New(w.pool, postgres.Config{Prices: map[string]cost.SandboxPrice{"local": {PerSecond: 9, Currency: "USD"}}})
	require.NoError(t, dearer.SandboxRunning(t.Context(), id, sandbox.Sandbox{}))
	row := w.ledger(id)
	require.True(t, row.ProviderCreatedAt.Before(*made))
	require.Equal(t, "EUR", row.Cost.Currency)
	require.InDelta(t, 2*row.SecondsAlive, row.Cost.Amount, 1e-6)
	require.Greater(t, row.SecondsAlive, 3599.0)
}

func TestReceipt_WithoutPrice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{Prices: map[string]cost.SandboxPrice{"daytona": {PerSecond: 2, Currency: "EUR"}}})
	_, id := w.box("local")
	require.NoError(t, w.store.SandboxRunning(t.Context(), id, sandbox.Sandbox{}))
	require.Nil(t, w.ledger(id).Cost)
}

// A sandbox costs from its creation at the provider, however late omoi learns of it.
func TestReceipt_LifetimeFromProvider(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{Prices: map[string]cost.SandboxPrice{"daytona": {PerSecond: 2, Currency: "EUR"}}})
	ctx := t.Context()
	_, id := w.box("daytona")
	w.exec(`UPDATE sandboxes SET created_at = created_at - interval '1 hour' WHERE id = $1`, id)
	require.Zero(t, w.ledger(id).SecondsAlive, "nobody has seen it")
	w.settle(id, "deleting")
	w.settle(id, "gone")
	require.Zero(t, w.ledger(id).SecondsAlive, "it was never made")
	require.Nil(t, w.ledger(id).Cost)

	since := w.ledger(id).CreatedAt.Add(10 * time.Minute)
	require.NoError(t, w.store.SandboxSeen(ctx, id, "p1", since))
	row := w.ledger(id)
	require.WithinDuration(t, since, *row.ProviderCreatedAt, time.Second)
	require.Equal(t, task.SandboxDeleting, row.State, "it is not gone after all")
	require.Nil(t, row.GoneAt)
	require.Equal(t, "p1", row.ProviderID)
	require.Greater(t, row.SecondsAlive, 2999.0)
	require.InDelta(t, 2*row.SecondsAlive, row.Cost.Amount, 1e-6)
	w.settle(id, "verified")
	row = w.ledger(id)
	require.Equal(t, task.SandboxGone, row.State)
	require.Equal(t, row.VerifiedAt, row.GoneAt, "the first look that found it no more")
	require.NoError(t, w.store.SandboxSeen(ctx, id, "p2", since))
	require.Equal(t, row, w.ledger(id), "what is verified stays")
}

// A provider's clock may be wrong: a creation time is between the intent and now.
func TestReceipt_BoundsProviderClock(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	for _, off := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		_, id := w.box("daytona")
		w.exec(`UPDATE sandboxes SET created_at = created_at - interval '1 hour' WHERE id = $1`, id)
		require.NoError(t, w.store.SandboxRunning(t.Context(), id, sandbox.Sandbox{CreatedAt: time.Now().Add(off)}))
		require.Equal(t, off < 0, w.ledger(id).SecondsAlive > 3599)
	}
}

// A pull transport sandbox is read to its end, or its row says that it was not.
func TestLedger_EventsIncomplete(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	ctx := t.Context()
	for _, c := range []struct {
		transport                     string
		started, read, unsent, unread bool
	}{
		{task.TransportPull, true, false, false, true},
		{task.TransportPull, true, true, false, false},
		{task.TransportPull, false, false, false, false},
		{task.TransportPush, true, false, false, false},
		{task.TransportPush, true, false, true, true},
	} {
		_, id := w.box("daytona")
		require.NoError(t, w.store.SandboxCreating(ctx, id, c.transport))
		if c.started {
			require.NoError(t, w.store.AgentStarted(ctx, id))
		}
		if c.read {
			w.settle(id, "read")
		}
		if c.unsent {
			w.settle(id, "unsent")
		}
		require.False(t, w.ledger(id).EventsIncomplete, "it is still there")
		w.settle(id, "gone")
		require.Equal(t, c.transport, w.ledger(id).Transport)
		require.Equal(t, c.unread, w.ledger(id).EventsIncomplete, "%+v", c)
	}
}
