package openhands_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/openhands"
)

// A new configuration has no fault, and each fault of the configuration that OmoiOS described is named.
func TestCheckConfig(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(openhands.NewConfig(openhands.NewKeys()))
	require.NoError(t, err)
	require.Empty(t, openhands.CheckConfig(text))

	faults := strings.Join(openhands.CheckConfig([]byte(`{
		"session_api_key": "your-secret-api-key", "allow_cors_origins": ["http://localhost:3000"], "conversations_path": "workspaces/conversations",
		"webhooks": [{"webhook_url": "http://localhost:18000/webhooks/agent-events", "method": "POST"}], "brand_new": 1
	}`)), "\n")
	for _, key := range []string{"session_api_key:", "webhooks:", "brand_new:", "session_api_keys:", "secret_key:", "bash_events_retention_seconds:"} {
		require.Contains(t, faults, key)
	}
	require.NotContains(t, faults, "allow_cors_origins")
	require.Len(t, openhands.CheckConfig([]byte(`{"session_api_keys": "x"}`)), 1)
	require.Len(t, openhands.CheckConfig([]byte(`[`)), 1)
}

// The variables of OmoiOS name a server in one mode only.
func TestAddress(t *testing.T) {
	t.Parallel()
	for want, vars := range map[string]map[string]string{
		"":                      {"WORKSPACE_MODE": "local", "AGENT_SERVER_HOST": "localhost"},
		"http://localhost:8000": {"AGENT_SERVER_HOST": "localhost", "AGENT_SERVER_API_KEY": "key"},
		"http://localhost:9000": {"WORKSPACE_MODE": "remote", "AGENT_SERVER_HOST": "localhost", "AGENT_SERVER_PORT": "9000", "AGENT_SERVER_API_KEY": "key"},
		"https://server":        {"WORKSPACE_REMOTE_HOST": "https://server", "WORKSPACE_REMOTE_API_KEY": "key", "AGENT_SERVER_HOST": "localhost"},
	} {
		address, key := openhands.Address(vars)
		require.Equal(t, want, address)
		require.Equal(t, want != "", key == "key")
	}
}

// A server that is too old, or whose parts differ, is refused with the command that helps.
func TestCheckVersions(t *testing.T) {
	t.Parallel()
	require.NoError(t, openhands.CheckVersions(openhands.Tested, openhands.Tested))
	require.NoError(t, openhands.CheckVersions("2.0.0"))
	for _, versions := range [][]string{{"1.57.9"}, {"unknown"}, {""}, {openhands.Tested, "1.49.1"}} {
		require.ErrorContains(t, openhands.CheckVersions(versions[0], versions[1:]...), openhands.Install)
	}
}

// A server without a key is allowed on this machine only.
func TestNew(t *testing.T) {
	t.Parallel()
	for address, allowed := range map[string]bool{
		"http://127.0.0.1:8000": true, "http://localhost:8000": true, "http://[::1]:8000": true, "http://192.0.2.1:8000": false, "ftp://localhost": false, "": false,
	} {
		_, err := openhands.New(address, "")
		require.Equal(t, allowed, err == nil, address)
	}
	_, err := openhands.New("http://192.0.2.1:8000", "key")
	require.NoError(t, err)
	for _, address := range []string{"https://me:planted@server", "https://server?key=planted", "https://server#planted"} {
		_, err = openhands.New(address, "key")
		require.ErrorContains(t, err, "WORKSPACE_REMOTE_API_KEY")
		require.NotContains(t, err.Error(), "planted")
	}
}
