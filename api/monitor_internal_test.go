package api

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/guardian"
)

// thought returns n analyses by a rule or by a model.
func thought(n int, by string, score float64) []guardian.Analysis {
	all := make([]guardian.Analysis, n)
	for i := range all {
		all[i] = guardian.Analysis{SpokenBy: by, AlignmentScore: &score, NeedsSteering: score < 0.5, SteeringType: "guidance"}
	}
	return all
}

func TestMonitorHealth_OfAnalyzedAndUnknownAgents(t *testing.T) {
	t.Parallel()
	bad, good := func(n int) []guardian.Analysis { return thought(n, "rules", 0.2) }, func(n int) []guardian.Analysis { return thought(n, "model", 0.95) }
	known := func(score float64) *float64 { return &score }
	for name, c := range map[string]struct {
		active int
		judged []guardian.Analysis
		word   string
		mean   *float64
	}{
		"no active agent":                         {0, nil, "no_activity", nil},
		"nobody judged":                           {3, nil, "unknown", nil},
		"one at fault, one unjudged":              {2, bad(1), "warning", nil},
		"one of ten at fault, nine unjudged":      {10, bad(1), "unknown", nil},
		"nearly all at fault, one unjudged":       {10, bad(9), "critical", nil},
		"all at fault":                            {2, bad(2), "critical", known(0.2)},
		"a model has looked at all":               {4, good(4), "optimal", known(0.95)},
		"a model has looked at half":              {4, good(2), "unknown", known(0.95)},
		"one at fault, a model judged the others": {10, append(bad(1), good(9)...), "good", known(0.875)},
		"one at fault, a model judged few":        {10, append(bad(1), good(3)...), "unknown", nil},
		"two at fault, a model judged half":       {10, append(bad(2), good(4)...), "unknown", known(0.8)},
	} {
		h := client.MonitorHealth{ActiveAgents: c.active, SteeringTypes: map[string]int{}}
		sumUp(&h, c.judged)
		require.Equal(t, c.word, h.Health, name)
		require.Equal(t, []int{len(c.judged), c.active - len(c.judged)}, []int{h.Analyzed, h.Unknown}, name)
		if c.mean == nil {
			require.Nil(t, h.Alignment, name)
			continue
		}
		require.InDelta(t, *c.mean, *h.Alignment, 1e-9, name)
	}
}

func TestMonitorHealth_ReportsTheModelError(t *testing.T) {
	t.Parallel()
	judged := []guardian.Analysis{
		{JudgedAt: time.Unix(1, 0), Analysis: json.RawMessage(`{"trouble": "older"}`)},
		{JudgedAt: time.Unix(3, 0), Analysis: json.RawMessage(`{"trouble": "newer"}`)},
		{JudgedAt: time.Unix(2, 0), Analysis: json.RawMessage(`{"trouble": "between"}`)},
		{JudgedAt: time.Unix(4, 0), Analysis: json.RawMessage(`{"summary": "It works."}`)},
	}
	h := client.MonitorHealth{ActiveAgents: len(judged), SteeringTypes: map[string]int{}}
	sumUp(&h, judged)
	require.Equal(t, "newer", h.ModelError)
	h = client.MonitorHealth{ActiveAgents: 1, SteeringTypes: map[string]int{}}
	sumUp(&h, judged[3:])
	require.Empty(t, h.ModelError)
}
