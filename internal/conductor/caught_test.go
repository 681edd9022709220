package conductor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/supervise"
)

// Without an analysis by a model the coherence is unknown: the finding of a rule concerns one agent only.
func TestWhomARuleHasCaughtStandsForHimself(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, box := w.works(0, "Crash on empty cart at checkout", cart)
	w.works(0, "Rotate API keys", "Let admins rotate the key of an integration.")
	w.thought(box, "steer", 0.2)
	w.cycle(w.conductor(nil), "a model has looked at one")
	require.NotNil(t, w.newest(0).Coherence)
	w.exec(`UPDATE guardian_analyses SET spoken_by = 'rules'`)
	w.cycle(w.conductor(nil), "a rule has caught one")
	require.Nil(t, w.newest(0).Coherence)
	require.Equal(t, []int{2, 1}, []int{w.newest(0).Agents, w.newest(0).Analyzed})
	require.NotEqual(t, supervise.FleetCritical, w.newest(0).Status)
}
