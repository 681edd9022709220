package app

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/supervise"
)

// What omoi does without a setting is what the rules were scored with.
func TestTheRulesAreThoseThatWereScored(t *testing.T) {
	t.Parallel()
	loaded, err := config.Load(config.Source{})
	require.NoError(t, err)
	require.Equal(t, supervise.DefaultSettings(), rulesOf(loaded))
	loaded, err = config.Load(config.Source{Params: map[string]string{"rules.loop_repeats": "9"}})
	require.NoError(t, err)
	require.Equal(t, 9, rulesOf(loaded).LoopRepeats)
}
