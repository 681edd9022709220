package taskcmd_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
)

func TestGuardianStatus(t *testing.T) {
	t.Parallel()
	status, health := client.MonitorStatus{Config: client.MonitorConfig{LLMAnalysis: true}}, client.MonitorHealth{ActiveAgents: 1, Analyzed: 1, Status: "not_run"}
	status.Timing.LastRunAge = new(29.7)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/monitor/intelligent/status", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, status) })
	mux.HandleFunc("GET /api/v1/monitor/intelligent/health", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, health) })
	var ratings client.RatingSummary
	mux.HandleFunc("GET /api/v1/guardian/ratings", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, ratings) })
	server := httptest.NewServer(mux)
	defer server.Close()
	f := newFake(t)
	f.url = server.URL
	got := f.omoi("guardian", "status")
	require.Zero(t, got.code, got.err)
	require.Regexp(t, `Interventions +0: 0 right, 0 wrong, 0 unrated; none rated in the last 14 days\n`, got.out)
	require.Regexp(t, `False positives +unknown; no agent has run\n`, got.out)
	ratings.Add("", client.RatingCounts{Total: 6, Right: 3, Wrong: 1})
	ratings.Add("loop", client.RatingCounts{Total: 2, Wrong: 1})
	ratings.Worked(40, 2)
	rated := f.omoi("guardian", "status").out
	require.Regexp(t, `Interventions +6: 3 right, 1 wrong, 2 unrated; 75 % of the rated ones right in the last 14 days\n`, rated)
	require.Regexp(t, `Findings +2: 0 right, 1 wrong, 1 unrated; 0 % of the rated ones right in the last 14 days\n`, rated)
	require.Regexp(t, `False positives +0\.050 per agent-hour \(2 in 40\.0 agent-hours\)\n`, rated)
	require.Contains(t, got.out, "1 agent; 1 analyzed, 0 to steer, 0 unknown")
	require.Regexp(t, `Last cycle +30s ago\n`, got.out)
	require.NotContains(t, got.out, "not_run")
	require.NotContains(t, got.out, "Model")
	require.Regexp(t, `Guardian +not scheduled. A worker creates the schedule within a minute. Next: omoi worker\n`, got.out, "it may have been deleted")
	health.ModelError = "The model did not judge: it answered 500"
	got = f.omoi("guardian", "status")
	require.Regexp(t, `Model +The model did not judge: it answered 500\n`, got.out)
	status.Config.LLMAnalysis = false
	require.Regexp(t, `Model +none configured; .* set ANTHROPIC_API_KEY`, f.omoi("guardian", "status").out)
}

func TestGuardian_ShowsTheModelError(t *testing.T) {
	t.Parallel()
	said := json.RawMessage(`{"summary": "Nothing stands out.", "trouble": "The model did not judge: it answered 500"}`)
	old := client.GuardianAnalysis{JudgedAt: time.Unix(5, 0), Verdict: "unknown", SpokenBy: "none", Analysis: json.RawMessage(`{"trouble": "The model did not judge: it was away"}`)}
	newest := client.GuardianAnalysis{JudgedAt: time.Unix(9, 0), Verdict: "unknown", SpokenBy: "none", Analysis: said}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/tasks/{id}", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, client.Task{ID: idA}) })
	mux.HandleFunc("GET /api/v1/guardian/analyses", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, client.Page[client.GuardianAnalysis]{Items: []client.GuardianAnalysis{newest, old}})
	})
	mux.HandleFunc("POST /api/v1/monitor/intelligent/analyze/{id}", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, client.AgentAnalysis{Verdict: "unknown", Source: "none", Details: said})
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	f := newFake(t)
	f.url = server.URL
	got := f.omoi("guardian", "analyses", idA)
	require.Zero(t, got.code, got.err)
	require.Regexp(t, `\n\d\d:\d\d:\d\d  The model did not judge: it answered 500\n$`, got.out)
	require.NotContains(t, got.out, "it was away", "the newest says enough")
	require.Regexp(t, `Model +The model did not judge: it answered 500\n`, f.omoi("guardian", "analyze", idA).out)
	require.NotContains(t, got.err, "ANTHROPIC_API_KEY")
	newest.Analysis, old.Analysis = nil, nil
	require.Contains(t, f.omoi("guardian", "analyses", idA).out, "Model: none configured")
}
