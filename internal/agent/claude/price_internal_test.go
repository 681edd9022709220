package claude

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func opened(model string, t tokens) map[string]tokens { return map[string]tokens{model: t} }

// TestSpent_EstimatesOpenTokens checks that tokens without a result count by the price list.
func TestSpent_EstimatesOpenTokens(t *testing.T) {
	t.Parallel()
	s := spent{}
	s.use("claude-opus-5", tokens{Input: 1000, Output: 10})
	cost, estimated := s.total()
	require.True(t, estimated)
	require.InDelta(t, 1050*5e-6, cost, 1e-9)
	s = spent{Settled: tokens{Input: 100}, Cost: 1, Open: opened("claude-opus-5-glm", tokens{Input: 50})}
	s.settle(&account{}, outcome{Cost: 0.6}) // a result without sums
	require.Equal(t, int64(150), s.all().Input)
	require.NotContains(t, s.data(), "cost_estimated")
	s = spent{Settled: tokens{Input: 100}, Cost: 1, Open: opened("claude-opus-5", tokens{Input: 50})}
	s.lose()
	s.settle(&account{}, outcome{Cost: 1, Models: map[string]modelUse{"claude-opus-5": {Input: 100, Cost: 1}}})
	require.InDelta(t, 2.00025, s.Cost, 1e-9, "what one process has lost the next one does not account for")
	require.Equal(t, int64(250), s.all().Input)
	require.Equal(t, true, s.data()["cost_estimated"])
}

// TestListPrice_MatchesTheProgram compares with the bills of the supported versions for a million tokens of each kind,
// as measured; the higher one counts.
func TestListPrice_MatchesTheProgram(t *testing.T) {
	t.Parallel()
	type price [4]float64 // input, output, cache read, cache write
	old, opus, sonnet := price{15, 75, 1.5, 18.75}, price{5, 25, 0.5, 6.25}, price{3, 15, 0.3, 3.75}
	haiku, small := price{1, 5, 0.1, 1.25}, price{0.8, 4, 0.08, 1}
	for model, want := range map[string]price{
		"claude-opus-5-5": opus, "claude-opus-5": opus, "claude-opus-4-8": opus,
		"claude-fable-5": {10, 50, 1, 12.5}, "claude-sonnet-5": sonnet, "claude-sonnet-5-5": sonnet, "claude-sonnet-4-5-20250929": sonnet,
		"claude-haiku-4-5": haiku, "claude-3-5-haiku-20241022": small, "claude-3-7-sonnet-20250219": sonnet, "claude-opus-4-latest": old,
		"us.anthropic.claude-opus-4-1-20250805-v1:0": old, "us.anthropic.claude-opus-4-5-20251101-v1:0": opus, "us.anthropic.claude-sonnet-5": sonnet,
		"global.anthropic.claude-sonnet-4-20250514-v1:0": sonnet, "eu.anthropic.claude-haiku-4-5-20251001-v1:0": haiku,
		"anthropic.claude-3-5-haiku-20241022-v1:0": small, "claude-opus-4-1@20250805": old, "vertex_ai/claude-haiku-4-5@20251001": haiku,
		"anthropic/claude-opus-4.1": old, "anthropic/claude-sonnet-4.5": sonnet,
	} {
		got, known := listPrice(model)
		require.True(t, known, model)
		require.Equal(t, want, price{got.Input, got.Output, got.CacheRead, got.CacheWrite}, model)
	}
	s := spent{}
	s.use("claude-opus-5-5", tokens{Input: 850_000})
	cost, _ := s.total()
	require.InDelta(t, 4.25, cost, 1e-9)
}

// TestSettle_BillReplacesEstimate checks that the program's own bill replaces an estimate, also if the bill names the
// model differently.
func TestSettle_BillReplacesEstimate(t *testing.T) {
	t.Parallel()
	for name, billed := range map[string]map[string]modelUse{
		"by name": {"claude-opus-5-glm-4.6[1m]": {Input: 400_000, Cost: 1.6}, "claude-haiku-4-5": {Input: 10, Cost: 1}}, "another name": {"claude-opus-5-z": {Input: 400_000, Cost: 1.6}}, "no name": nil,
	} {
		var s spent
		s.use("claude-opus-5-glm-4.6", tokens{Input: 400_000})
		cost, estimated := s.total()
		require.True(t, estimated && cost == 2, name)
		s.settle(&account{}, outcome{Cost: 1.6, Models: billed})
		cost, estimated = s.total()
		require.True(t, !estimated && cost == 1.6, name)
		s.use("claude-opus-5-glm-4.6", tokens{Input: 100_000})
		cost, _ = s.total()
		require.InDelta(t, 2.1, cost, 1e-9, name)
	}
}

// TestBeyond_EstimateNeedsMargin checks that an estimate ends a turn only above the margin, because the program
// enforces its own bill.
func TestBeyond_EstimateNeedsMargin(t *testing.T) {
	t.Parallel()
	var s spent
	s.use("claude-opus-5-glm-4.6", tokens{Input: 850_000})
	require.False(t, s.beyond(4.2), "4.25 USD by an estimate")
	require.False(t, s.beyond(3.4))
	require.True(t, s.beyond(2.8))
	s.lose()
	require.True(t, s.beyond(4.2), "nobody will bill it")
	billed := spent{}
	billed.settle(&account{}, outcome{Cost: 4.2})
	require.True(t, billed.beyond(4.2))
	cheap := spent{}
	cheap.use("claude-sonnet-5", tokens{Input: 1_990_000})
	require.False(t, cheap.beyond(4), "one version bills 3.98 USD")
}

func TestSpent_ModelWithoutAPrice(t *testing.T) {
	t.Parallel()
	var s spent
	for _, model := range []string{"glm-4.6", "claude-haiku-5", "claude-3-opus-20240229"} {
		_, known := listPrice(model)
		require.False(t, known, model)
	}
	s.use("glm-4.6", tokens{Input: 850_000})
	require.Nil(t, s.data()["cost_usd"])
	require.Equal(t, true, s.data()["cost_unknown"])
	require.False(t, s.beyond(0.01), "no invented price ends a turn")
	s.settle(&account{}, outcome{Cost: 4.25, Models: map[string]modelUse{"glm-4.6": {Input: 850_000, Cost: 4.25}}})
	require.Nil(t, s.data()["cost_usd"], "the program's bill invents a price too")
	require.Equal(t, int64(850_000), s.all().Input)
	s.use("claude-opus-5", tokens{Input: 200_000})
	require.InDelta(t, 1, *s.data()["cost_usd"].(*float64), 1e-9)
	require.Equal(t, true, s.data()["cost_unknown"], "a part of the sum is unknown")
}

func TestSpent_ConfiguredPrice(t *testing.T) {
	t.Parallel()
	s := spent{prices: pricesOf(variables{"OMOI_MODEL_PRICES": "glm=0.6/2.2, claude-opus-5=1/2/0.5/3", "OMOI_MODEL_PRICES_DATE": "2026-10-01"})}
	s.use("glm-4.6", tokens{Input: 1_000_000, Output: 1_000_000})
	s.use("claude-opus-5", tokens{CacheRead: 1_000_000, CacheWrite: 1_000_000})
	cost, _ := s.total()
	require.InDelta(t, 6.3, cost, 1e-9)
	s.settle(&account{}, outcome{Cost: 40, Models: map[string]modelUse{
		"glm-4.6": {Input: 1_000_000, Output: 1_000_000, Cost: 30}, "claude-opus-5": {CacheRead: 1_000_000, CacheWrite: 1_000_000, Cost: 10},
	}})
	cost, _ = s.total()
	require.InDelta(t, 6.3, cost, 1e-9)
	require.Equal(t, "2026-10-01", s.data()["prices_as_of"])
	require.NotContains(t, s.data(), "cost_unknown")
}
