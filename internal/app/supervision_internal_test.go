package app

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/supervise"
)

// The default thresholds are those of the recorded score.
func TestRulesOf_AreTheScoredRules(t *testing.T) {
	t.Parallel()
	loaded, err := config.Load(config.Source{})
	require.NoError(t, err)
	require.Equal(t, supervise.DefaultSettings(), rulesOf(loaded))
	loaded.Task.ToolTimeout++
	require.Greater(t, rulesOf(loaded).ToolLimit, supervise.DefaultSettings().ToolLimit)
}
