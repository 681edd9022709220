package postgres_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

// The intake has connections of its own, which it opens when it first needs one.
func TestAClosedStoreOpensNoConnections(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	w.store.Close()
	require.Equal(t, task.CodeUnavailable, task.CodeOf(w.commitOne()))
}

// An operator who counts connections counts those of the intake too; they are few.
func TestConnectionsOfTheIntakeAreCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	t.Cleanup(w.store.Close)
	alone := w.store.PoolUse()
	require.NoError(t, w.commitOne())
	both := w.store.PoolUse()
	require.Equal(t, alone.Max+min(alone.Max, 4), both.Max)
	require.Greater(t, both.Acquires, alone.Acquires)
	require.Positive(t, both.Idle-alone.Idle)
}

func (w world) commitOne() error {
	_, err := w.store.CommitEvents(w.t.Context(), ingest.Commit{Requests: []ingest.Request{{
		SandboxID: "box", Key: "k", Events: []ingest.Event{{Type: "x", Source: ingest.SourceAgent, Data: json.RawMessage(`{}`)}},
	}}})
	return err
}
