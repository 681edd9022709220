package ingest_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/live"
)

// failures collects the reasons of failed checkpoints.
type failures struct {
	unmetered

	mu      sync.Mutex
	reasons []string
}

func (f *failures) CheckpointFailed(reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reasons = append(f.reasons, reason)
}

func TestIntake_CountsAFailedCheckpointOnce(t *testing.T) {
	t.Parallel()
	b, meter := setup(t), &failures{}
	intake := ingest.NewIntake(ingest.IntakeConfig{Meter: meter}, b.store, live.New(), quiet())
	run(t, intake.Run)
	box, events := b.sandbox(), []ingest.Event{newEvent("agent.message"), newEvent(event.AgentCheckpointFailed), newEvent("agent.message")}
	for _, size := range []int{2, 3, 3} { // the answers were lost
		_, err := intake.Batch(within(t), box, "spool", 1, events[:size])
		require.NoError(t, err)
	}
	meter.mu.Lock()
	defer meter.mu.Unlock()
	require.Equal(t, []string{"sandbox"}, meter.reasons)
}
