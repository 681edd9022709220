package ingest_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/ingest"
)

func TestFrames_PassOverWhatIsNoChange(t *testing.T) {
	t.Parallel()
	own := ingest.BusEvent{EventType: "CRITERION_COMPLETED", EntityType: "criterion", EntityID: "c", Payload: json.RawMessage(`{}`)}
	require.Equal(t, []ingest.BusEvent{own}, ingest.Frames(own))
	for _, entity := range []string{"task", "ticket", "sandbox", "attempt", "message"} {
		require.Empty(t, ingest.Frames(ingest.BusEvent{EventType: ingest.BusChange, EntityType: entity, EntityID: "x", Payload: json.RawMessage(`1`)}), entity)
	}
	quiet := `{"outcome": "completed", "stop_reason": "", "state": "running", "ended_at": "2026-01-01T00:00:00+00:00", "idle_since": "2026-01-01T00:00:00+00:00"}`
	require.Empty(t, ingest.Frames(ingest.BusEvent{EventType: ingest.BusChange, EntityType: "attempt", Payload: json.RawMessage(quiet)}))
}
