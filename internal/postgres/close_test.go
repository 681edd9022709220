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
	_, err := w.store.CommitEvents(t.Context(), ingest.Commit{Requests: []ingest.Request{{
		SandboxID: "box", Key: "k", Events: []ingest.Event{{Type: "x", Source: ingest.SourceAgent, Data: json.RawMessage(`{}`)}},
	}}})
	require.Equal(t, task.CodeUnavailable, task.CodeOf(err))
}
