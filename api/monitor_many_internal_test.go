package api

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/guardian"
)

// resolver is a store that resolves every ID to itself.
type resolver struct{ Monitored }

func (resolver) Resolve(_ context.Context, _, id string) (string, error) { return id, nil }

// panel blocks analyses until several run concurrently.
type panel struct {
	size      int32
	now, most atomic.Int32
	full      chan struct{}
	all       atomic.Int32
}

func (p *panel) JudgeNow(ctx context.Context, id string, _ bool) (guardian.Analysis, error) {
	now := p.now.Add(1)
	defer p.now.Add(-1)
	for most := p.most.Load(); now > most && !p.most.CompareAndSwap(most, now); most = p.most.Load() {
	}
	if p.all.Add(1) == p.size {
		close(p.full)
	}
	select {
	case <-p.full:
		return guardian.Analysis{SandboxID: id}, nil
	case <-ctx.Done():
		return guardian.Analysis{}, ctx.Err()
	}
}

func emergencyOf(ctx context.Context, t *testing.T, p *panel, ids ...string) client.EmergencyAnalysis {
	t.Helper()
	a := &API{
		cfg:  Config{Monitoring: client.MonitorConfig{MaxAnalyses: 3}},
		deps: Deps{Ports: Ports{Monitored: resolver{}}, Judge: p},
	}
	out, err := a.emergency(ctx, &emergencyIn{Body: ids})
	require.NoError(t, err)
	return out.Body
}

func TestEmergencyAnalysis_RunsConcurrently(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p := &panel{size: 3, full: make(chan struct{})}
	out := emergencyOf(ctx, t, p, "a", "b", "c", "a", "d", "e", "f", "g")
	require.Empty(t, out.Failed)
	var ids []string
	for _, one := range out.Analyses {
		ids = append(ids, one.AgentID)
	}
	require.Equal(t, []string{"a", "b", "c", "d", "e", "f", "g"}, ids, "each once, in their order")
	require.EqualValues(t, 3, p.most.Load())
}

// A model that does not respond blocks neither the other analyses nor the response.
func TestEmergencyAnalysis_EndsInTime(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	p := &panel{size: 100, full: make(chan struct{})}
	out := emergencyOf(ctx, t, p, "a", "b", "c", "d", "e", "f", "g")
	require.Len(t, out.Failed, 7)
	require.Contains(t, out.Failed["g"], "no time")
	require.EqualValues(t, 7, p.all.Load())

	until, _ := ctx.Deadline()
	turn, stop := inTurn(ctx, 1)
	defer stop()
	ends, ok := turn.Deadline()
	require.True(t, ok)
	require.False(t, ends.After(until))
}
