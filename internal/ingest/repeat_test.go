package ingest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/ingest"
)

// What an old worker sends again has no id: it is the same event for as long as it may be repeated.
func TestALastWordThatIsRepeatedIsOneEvent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, other, sandbox := b.intake(ingest.IntakeConfig{}, nil), b.intake(ingest.IntakeConfig{}, nil), b.sandbox()
	said := newEvent("agent.completed")
	first, err := one.Single(within(t), sandbox, said, false)
	require.NoError(t, err)
	for _, intake := range []*ingest.Intake{one, other} {
		again, err := intake.Single(within(t), sandbox, said, false)
		require.NoError(t, err)
		require.Equal(t, first.EventID, again.EventID)
		require.True(t, again.Duplicate)
	}
	for _, elsewhere := range []ingest.Event{{Type: said.Type, Data: []byte(`{"turns":2}`)}, {Type: said.Type, Data: said.Data, Source: ingest.SourceWorker}} {
		receipt, err := one.Single(within(t), sandbox, elsewhere, false)
		require.NoError(t, err)
		require.False(t, receipt.Duplicate, "other words")
	}
	b.exec(`UPDATE sandbox_events SET created_at = created_at - interval '3 minutes'`)
	later, err := one.Single(within(t), sandbox, said, false)
	require.NoError(t, err)
	require.False(t, later.Duplicate, "the same may be said again")
	again, err := one.Single(within(t), sandbox, said, false)
	require.NoError(t, err)
	require.Equal(t, later.EventID, again.EventID, "and is repeated then, too")
	b.contiguous(sandbox, 4)
}
