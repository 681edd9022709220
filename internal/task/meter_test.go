package task_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

func TestMetered_SumsWhatEventsReport(t *testing.T) {
	t.Parallel()
	type event struct{ kind, report string }
	const said = "agent.assistant_message"
	for name, c := range map[string]struct {
		events []event
		want   task.Metered
	}{
		"the largest sum counts": {
			[]event{{said, `{"total_cost_usd": 2, "total_input_tokens": 20}`}, {said, `{"total_cost_usd": 1, "total_output_tokens": 5}`}},
			task.Metered{CostUSD: 2, InputTokens: 20, OutputTokens: 5},
		},
		"the bill replaces estimates": {
			[]event{{said, `{"total_cost_usd": 9, "total_input_tokens": 90}`}, {"agent.completed", `{"cost_usd": 3, "input_tokens": 30}`}},
			task.Metered{CostUSD: 3, InputTokens: 30},
		},
		"sums after a bill count": {
			[]event{{"agent.error", `{"total_cost_usd": 3}`}, {said, `{"total_cost_usd": 2}`}, {said, `{"total_cost_usd": 4}`}},
			task.Metered{CostUSD: 4},
		},
		"a bill of nothing replaces nothing": {
			[]event{{said, `{"total_cost_usd": 2}`}, {"agent.failed", `{"total_cost_usd": 0}`}}, task.Metered{CostUSD: 2},
		},
		"costs of an end count at an end only": {[]event{{said, `{"cost_usd": 7, "input_tokens": 7}`}}, task.Metered{}},
		"what is no number is nothing": {
			[]event{{said, `{"total_cost_usd": "7", "total_input_tokens": [1]}`}, {said, `{"total_cost_usd": -1, "total_input_tokens": null}`}}, task.Metered{},
		},
		"numbers are bounded":     {[]event{{said, `{"total_cost_usd": 1e300}`}}, task.Metered{CostUSD: 1e15}},
		"huge numbers are too":    {[]event{{said, `{"total_cost_usd": 1e400}`}}, task.Metered{CostUSD: 1e15}},
		"tokens without a price":  {[]event{{"agent.completed", `{"input_tokens": 5}`}}, task.Metered{InputTokens: 5, CostUnknown: true}},
		"tokens at a price of 0":  {[]event{{"agent.completed", `{"input_tokens": 5, "cost_usd": 0}`}}, task.Metered{InputTokens: 5}},
		"a model without a price": {[]event{{said, `{"cost_unknown": true}`}, {said, `{"total_cost_usd": 1}`}}, task.Metered{CostUSD: 1, CostUnknown: true}},
	} {
		var got task.Metered
		for _, e := range c.events {
			var report task.UsageReport
			require.NoError(t, json.Unmarshal([]byte(e.report), &report), name)
			got.Add(e.kind, report)
		}
		require.Equal(t, c.want, got, name)
	}
}
