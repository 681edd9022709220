package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

// A sandbox that was never created ends without a call of its provider; one that may exist does not.
func TestSandboxUnmade(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	ctx := t.Context()
	_, id := w.box("daytona")
	ended, err := w.store.SandboxUnmade(ctx, id)
	require.NoError(t, err)
	require.True(t, ended)
	row := w.ledger(id)
	require.Equal(t, task.SandboxGone, row.State)
	require.NotNil(t, row.VerifiedAt)
	require.Equal(t, task.CodeGone, task.CodeOf(w.store.SandboxCreating(ctx, id, task.TransportPush)), "nor is it made any more")

	_, id = w.box("daytona")
	require.NoError(t, w.store.SandboxCreating(ctx, id, task.TransportPush))
	ended, err = w.store.SandboxUnmade(ctx, id)
	require.NoError(t, err)
	require.False(t, ended)
	require.Equal(t, task.SandboxCreating, w.ledger(id).State)
}
