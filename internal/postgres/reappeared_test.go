package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/cost"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

// A sandbox that exists again after verification counts like any other, until it is verified again.
func TestMarkReappeared(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{Prices: map[string]cost.SandboxPrice{"daytona": {PerSecond: 2, Currency: "EUR"}}})
	ctx := t.Context()
	a, id := w.box("daytona")
	w.write(a, contract.Projection{Ordinal: 2, Status: task.StatusCancelled, ReleaseSlot: true, Ended: &contract.AttemptEnd{Number: 1, Outcome: "cancelled"}})
	require.NoError(t, w.store.MarkReappeared(ctx, id, "p1", time.Time{}))
	require.Nil(t, w.ledger(id).AdoptedAt, "it was not verified gone")
	again := func() int {
		n, _, err := w.store.CountReappeared(ctx)
		require.NoError(t, err)
		return n
	}
	for _, event := range []string{"deleting", "gone", "verified"} {
		w.settle(id, event)
		require.Zero(t, again())
	}
	for range 2 {
		require.NoError(t, w.store.MarkReappeared(ctx, id, "p1", time.Now()))
		row := w.ledger(id)
		require.Equal(t, task.SandboxDeleting, row.State)
		require.Nil(t, row.VerifiedAt)
		require.Nil(t, row.GoneAt)
		require.NotNil(t, row.ProviderCreatedAt)
		require.NotNil(t, row.Cost)
		require.True(t, row.SeenAgain())
		require.Equal(t, 1, again())
	}
	orphans, err := w.store.LedgerOrphans(ctx, -time.Hour)
	require.NoError(t, err)
	require.Len(t, orphans, 1)
	w.settle(id, "gone")
	w.settle(id, "verified")
	require.Zero(t, again())
	require.True(t, w.ledger(id).SeenAgain(), "the receipt goes on telling of it")
}

// The reaper does not pause while a provider may still create a sandbox.
func TestIsIdle_LateCreate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a, id := w.box("daytona")
	w.write(a, contract.Projection{Ordinal: 2, Status: task.StatusCancelled, ReleaseSlot: true})
	w.settle(id, "verified")
	rest, err := w.store.IsIdle(t.Context())
	require.NoError(t, err)
	require.False(t, rest)
	w.exec(`UPDATE sandboxes SET verified_at = verified_at - interval '61 minutes'`)
	rest, err = w.store.IsIdle(t.Context())
	require.NoError(t, err)
	require.True(t, rest)
}
