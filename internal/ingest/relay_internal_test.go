package ingest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// upRuns is a Temporal that answers.
type upRuns struct{ Runs }

// Check implements [Runs].
func (upRuns) Check(context.Context) error { return nil }

// pauses is a store that counts how often pauses were ended.
type pauses struct {
	RelayStore

	ended int
}

// EndRelayPauses implements [RelayLeases].
func (p *pauses) EndRelayPauses(context.Context) error {
	p.ended++
	return nil
}

func TestRelay_EndsPausesOnlyAfterAnOutage(t *testing.T) {
	t.Parallel()
	store := &pauses{}
	r := NewRelay(RelayConfig{}, store, upRuns{}, nil, nil)
	r.missed(t.Context(), r.returns.Load())
	require.False(t, r.isAway(t.Context(), false))
	require.Zero(t, store.ended, "a task that fails alone keeps its pause")
	began := r.returns.Load()
	require.False(t, r.isAway(t.Context(), true))
	require.Equal(t, 1, store.ended)
	r.missed(t.Context(), began)
	require.Equal(t, 2, store.ended, "the call began before Temporal returned")
}
