package checkpoints_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/checkpoints"
	"github.com/omoi-dev/omoi/internal/agent/track"
	"github.com/omoi-dev/omoi/internal/checkpoint"
)

// keptAfterTurn takes a checkpoint, lets a program in the background work, ends the turn with its comparison, and returns the checkpoint
// of the agent at rest.
func (r *rig) keptAfterTurn(work func()) checkpoint.Checkpoint {
	r.t.Helper()
	tracker, err := checkpoints.Track(r.t.Context(), r.dir, r.work, track.Config{Log: slog.New(slog.DiscardHandler)})
	require.NoError(r.t, err)
	r.t.Cleanup(func() { require.NoError(r.t, tracker.Close()) })
	turn, err := tracker.View(r.t.Context())
	require.NoError(r.t, err)
	k := r.openWith(checkpoints.Config{Tracker: tracker})
	r.keep(k)
	work()
	_, _, err = turn.Look(r.t.Context())
	require.NoError(r.t, err)
	turn.Done()
	r.agent.sent = 100
	r.keep(k)
	require.Len(r.t, r.server.Checkpoints(), 2)
	return r.server.Checkpoints()[2]
}

func TestKeep_AtRestHasWhatTheEndOfTheTurnHasRead(t *testing.T) {
	t.Parallel()
	for _, committed := range []bool{false, true} {
		r := newRig(t, "sha1")
		last := r.keptAfterTurn(func() {
			r.put(r.work, "f", "of a program in the background\n")
			if committed {
				r.git(r.work, "add", "f")
				r.git(r.work, "commit", "-qm", "own")
			}
		})
		require.False(t, last.Torn)
		work, _ := r.restored()
		require.Equal(t, digest(t, r.work), digest(t, work))
		require.Equal(t, r.git(r.work, "status", "--porcelain"), r.git(work, "status", "--porcelain"))
	}
}

func TestKeep_AtRestNamesWhatTheEndOfTheTurnHasLeftOut(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	last := r.keptAfterTurn(func() { r.put(r.work, "large", strings.Repeat("x", 33<<20)) })
	require.Len(t, last.LeftOut, 1)
	require.Contains(t, last.LeftOut[0], `"large" was left out`)
}
