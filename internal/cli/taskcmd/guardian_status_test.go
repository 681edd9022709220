package taskcmd_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestGuardianStatusCountsInWords(t *testing.T) {
	t.Parallel()
	status, health := client.MonitorStatus{LastCycle: &task.GuardianCycle{Judged: 3}}, client.MonitorHealth{ActiveAgents: 1, Judged: 1, Status: "not_run"}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/monitor/intelligent/status", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, status) })
	mux.HandleFunc("GET /api/v1/monitor/intelligent/health", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, health) })
	server := httptest.NewServer(mux)
	defer server.Close()
	f := newFake(t)
	f.url = server.URL
	got := f.omoi("guardian", "status")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, "1 agent; judged 1, in need of steering 0, unknown 0")
	require.Contains(t, got.out, ": 3 judged, under way\n")
	require.Contains(t, got.out, "the conductor has not looked at these agents yet")
	require.NotContains(t, got.out, "not_run")
	status.LastCycle.Standing = 2
	require.Contains(t, f.omoi("guardian", "status").out, ": 3 judged, 2 as before, under way\n")
}
