package ingest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/ingest"
)

// Before the namespace is claimed, it may be of another installation, and a task would start without search attributes.
func TestRelay_SendsNothingBeforeTheNamespaceIsClaimed(t *testing.T) {
	t.Parallel()
	b, runs := setup(t), newFakeRuns()
	taskID := b.task()
	start := b.ask(taskID, "start")
	claimed, cfg := make(chan struct{}), quick()
	cfg.Claimed, cfg.PulsePeriod = claimed, 200*time.Millisecond
	b.relay(cfg, runs)
	for range 2 { // it runs, and says so
		begun := one[time.Time](b, `SELECT now()`)
		require.Eventually(t, func() bool {
			return one[bool](b, `SELECT EXISTS (SELECT FROM component_heartbeats WHERE part = $1 AND at > $2)`, ingest.PartRelay, begun)
		}, time.Minute, time.Millisecond)
	}
	require.Empty(t, runs.of(taskID))
	close(claimed)
	b.settled(taskID)
	require.Equal(t, []string{"start " + start}, runs.of(taskID))
}
