package ingest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/ingest"
)

// Who takes interrupts alone leaves the rest to another taker of the same sandbox.
func TestInterruptsCanBeTakenApart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	box := b.sandbox()
	interrupts := func() []ingest.Message {
		got, err := b.store.LeaseMessages(t.Context(), ingest.Taking{Kind: ingest.MessageInterrupt, SandboxID: box, Lease: time.Minute})
		require.NoError(t, err)
		return got
	}
	b.say(box, ingest.MessageUser, "use tabs")
	require.Empty(t, interrupts())
	stop := b.say(box, ingest.MessageInterrupt, "stop")
	got := interrupts()
	require.Len(t, got, 1)
	require.Equal(t, stop.ID, got[0].ID)
	require.Equal(t, []string{"use tabs"}, b.lease(box))
}
