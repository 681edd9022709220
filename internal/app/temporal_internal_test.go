package app

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/omoi-dev/omoi/internal/devstack"
)

// omoi doctor checks Temporal, and names the next step if Temporal does not answer.
func TestCheckTemporal_AsksTheServer(t *testing.T) {
	t.Parallel()
	away := checkTemporal(t.Context(), fresh(t, "OMOI_TEMPORAL_ADDRESS=127.0.0.1:1"), devstack.Info{})
	require.Equal(t, FindingFail, away.Status)
	require.Contains(t, away.Detail, "127.0.0.1:1")
	require.Contains(t, away.Next, "temporal.address")
	path, err := devstack.FindTemporal("")
	if err != nil {
		t.Skip("SKIPPED: ", err)
	}
	server, err := testsuite.StartDevServer(t.Context(), testsuite.DevServerOptions{ExistingPath: path, LogLevel: "never"})
	require.NoError(t, err)
	defer func() { server.Client().Close(); require.NoError(t, server.Stop()) }()
	info := devstack.Info{TemporalAddress: server.FrontendHostPort(), TemporalNamespace: "default"}
	require.Equal(t, FindingOK, checkTemporal(t.Context(), fresh(t), info).Status)

	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"ready": true, "dependencies": [{"name": "temporal", "state": "down", "required": false, "detail": "It stores nothing."}]}`))
	}))
	defer api.Close()
	info.APIURL = api.URL
	full := checkTemporal(t.Context(), fresh(t), info)
	require.Equal(t, []string{FindingFail, "It stores nothing."}, []string{full.Status, full.Detail})
	info.APIURL, info.TemporalNamespace = "", "nowhere"
	missing := checkTemporal(t.Context(), fresh(t), info)
	require.Equal(t, FindingFail, missing.Status)
	require.Contains(t, missing.Next, "temporal.namespace")
}
