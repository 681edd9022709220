package event_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/event"
)

func TestMetered_SumsWhatEventsReport(t *testing.T) {
	t.Parallel()
	type reported struct{ kind, report string }
	const said = "agent.assistant_message"
	for name, c := range map[string]struct {
		events []reported
		want   event.Metered
	}{
		"the largest sum counts": {
			[]reported{{said, `{"total_cost_usd": 2, "total_input_tokens": 20}`}, {said, `{"total_cost_usd": 1, "total_output_tokens": 5}`}},
			event.Metered{CostUSD: 2, InputTokens: 20, OutputTokens: 5},
		},
		"the bill replaces estimates": {
			[]reported{{said, `{"total_cost_usd": 9, "total_input_tokens": 90}`}, {"agent.completed", `{"cost_usd": 3, "input_tokens": 30}`}},
			event.Metered{CostUSD: 3, InputTokens: 30},
		},
		"sums after a bill count": {
			[]reported{{"agent.error", `{"total_cost_usd": 3}`}, {said, `{"total_cost_usd": 2}`}, {said, `{"total_cost_usd": 4}`}},
			event.Metered{CostUSD: 4},
		},
		"a bill of nothing replaces nothing": {
			[]reported{{said, `{"total_cost_usd": 2}`}, {"agent.failed", `{"total_cost_usd": 0}`}}, event.Metered{CostUSD: 2},
		},
		"costs of an end count at an end only": {[]reported{{said, `{"cost_usd": 7, "input_tokens": 7}`}}, event.Metered{}},
		"what is no number is nothing": {
			[]reported{{said, `{"total_cost_usd": "7", "total_input_tokens": [1]}`}, {said, `{"total_cost_usd": -1, "total_input_tokens": null}`}}, event.Metered{},
		},
		"numbers are bounded":     {[]reported{{said, `{"total_cost_usd": 1e300}`}}, event.Metered{CostUSD: 1e15}},
		"huge numbers are too":    {[]reported{{said, `{"total_cost_usd": 1e400}`}}, event.Metered{CostUSD: 1e15}},
		"tokens without a price":  {[]reported{{"agent.completed", `{"input_tokens": 5}`}}, event.Metered{InputTokens: 5, CostUnknown: true}},
		"tokens at a price of 0":  {[]reported{{"agent.completed", `{"input_tokens": 5, "cost_usd": 0}`}}, event.Metered{InputTokens: 5}},
		"a model without a price": {[]reported{{said, `{"cost_unknown": true}`}, {said, `{"total_cost_usd": 1}`}}, event.Metered{CostUSD: 1, CostUnknown: true}},
	} {
		var got event.Metered
		for _, e := range c.events {
			var report event.UsageReport
			require.NoError(t, json.Unmarshal([]byte(e.report), &report), name)
			got.Add(e.kind, report)
		}
		require.Equal(t, c.want, got, name)
	}
}
