package postgres_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

// Ingest has a pool of its own, which is opened at first use.
func TestClose_OpensNoConnections(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	w.store.Close()
	require.Equal(t, task.CodeUnavailable, task.CodeOf(w.commitOne()))
}

// PoolUse includes the connections of ingest, which are few.
func TestPoolUse_IncludesIngest(t *testing.T) {
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
