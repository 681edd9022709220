package scenario

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
)

// The analysis of a cycle that was already running does not pass the step: the cycle may have missed the sandbox.
func TestConducted_WaitsForACycleOfItsOwn(t *testing.T) {
	t.Parallel()
	older, underWay := client.ConductorAnalysis{ID: "a1", CycleID: "r1"}, client.ConductorAnalysis{ID: "a2", CycleID: "r2", Agents: 7}
	own := client.ConductorAnalysis{ID: "a3", CycleID: "r3", Agents: 1, Status: "unknown"}
	pages := [][]client.ConductorAnalysis{{older}, {underWay, older}, {own, underWay, older}}
	var asked, looks atomic.Int32
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, body any) {
		w.Header().Set("Content-Type", "application/json")
		raw, err := json.Marshal(body)
		if err == nil {
			_, _ = w.Write(raw)
		}
	}
	mux.HandleFunc("GET /api/v1/monitor/intelligent/status", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, client.MonitorStatus{Config: client.MonitorConfig{Enabled: true}, Conductor: client.ConductorStatus{
			Last: &older, Schedule: client.Schedule{Recent: []client.ScheduleRun{{RunID: "r1"}, {RunID: "r2"}}},
		}})
	})
	mux.HandleFunc("POST /api/v1/schedules/conductor/run", func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		answer(w, client.Schedule{})
	})
	mux.HandleFunc("GET /api/v1/conductor/analyses", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, client.Page[client.ConductorAnalysis]{Items: pages[min(int(looks.Add(1)), len(pages))-1]})
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	k := &kit{Config: Config{API: client.New(server.URL, "")}, box: "box"}
	said, err := k.conducted(t.Context())
	require.NoError(t, err)
	require.Equal(t, "The conductor has analyzed 1 agent: unknown.", said)
	require.EqualValues(t, 1, asked.Load())
}

func TestJudgedWords(t *testing.T) {
	t.Parallel()
	require.Equal(t, "The guardian has analyzed it: no rule matched and no model was asked (unknown).",
		verdictText(client.GuardianAnalysis{SpokenBy: "none", Verdict: "unknown"}))
	require.Equal(t, "The guardian has analyzed it: steer, by rules.", verdictText(client.GuardianAnalysis{SpokenBy: "rules", Verdict: "steer"}))
}
