package claude

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/cost"
)

// TestSettle_ResultWithoutModels checks that a result without models uses configured prices, and no price for an
// unlisted model.
func TestSettle_ResultWithoutModels(t *testing.T) {
	t.Parallel()
	set, err := cost.ParseModelPrices("claude-opus-5=1/1")
	require.NoError(t, err)
	s := spent{prices: prices{set: set}}
	s.use("claude-opus-5", tokens{Input: 1e6})
	s.settle(&account{}, outcome{Cost: 5})
	require.InDelta(t, 1, s.Cost, 1e-9)
	s = spent{}
	s.use("of-a-gateway", tokens{Input: 1e6})
	s.settle(&account{}, outcome{Cost: 5})
	require.Zero(t, s.Cost)
	require.True(t, s.Unknown)
}
