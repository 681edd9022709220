package checkpoints_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/checkpoints"
	agenttest "github.com/omoi-dev/omoi/internal/testkit/agent"
)

func TestFetch_AnOutageIsNoDamage(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]agenttest.Fault{"no answer": {CutBefore: true}, "503": {Status: 503}, "cut": {CutAfter: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "sha1")
			k := r.open()
			r.keep(k)
			r.put(r.work, "a.txt", "a\n")
			r.keep(k)
			ctx, expire := context.WithCancel(t.Context())
			requests := 0
			r.server.CheckpointFaultOf = func(int) agenttest.Fault {
				switch requests++; requests {
				case 1: // the first pack
					return agenttest.Fault{}
				case 3:
					expire()
				}
				return fault
			}
			dir := t.TempDir()
			_, err := checkpoints.Fetch(ctx, r.line, dir, r.server.Segments())
			require.ErrorIs(t, err, checkpoints.ErrUnavailable)
			require.ErrorContains(t, err, "checkpoint 1.2: ")

			requests = 0
			r.server.CheckpointFaultOf = func(int) agenttest.Fault {
				if requests++; requests < 3 {
					return fault
				}
				return agenttest.Fault{}
			}
			from, err := checkpoints.Fetch(t.Context(), r.line, dir, r.server.Segments())
			require.NoError(t, err)
			require.NoError(t, from.Older)
			require.Equal(t, "1.2", from.From.ID)
		})
	}
}

func TestFetch_APackThatAlwaysBreaksOffIsDamaged(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	r.keep(r.open())
	r.server.CheckpointFaultOf = func(int) agenttest.Fault { return agenttest.Fault{CutAfter: true} }
	_, err := checkpoints.Fetch(t.Context(), r.line, t.TempDir(), r.server.Segments())
	require.EqualError(t, err, "checkpoint 1.1: its pack is damaged")
}
