package config_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/config"
)

func TestLegacyCallbackURL_GivesTheBase(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"https://api.example.com":                           "https://api.example.com",
		"https://api.example.com/sandbox/events":            "https://api.example.com",
		"https://api.example.com/sandbox/events/":           "https://api.example.com",
		"https://example.com/behind/a/proxy":                "https://example.com/behind/a/proxy",
		"https://example.com/behind/a/proxy/sandbox/events": "https://example.com/behind/a/proxy",
	} {
		loaded := load(t, config.Source{Environ: []string{"CALLBACK_URL=" + given}})
		require.Equal(t, want, loaded.API.CallbackURL)
	}
}

// omoi must start with the variables in OmoiOS's first document unchanged.
func TestLegacyEnvironment_IsHonored(t *testing.T) {
	t.Parallel()
	loaded := load(t, config.Source{Environ: []string{
		"DAYTONA_API_KEY=dtn_1", "ORCHESTRATOR_ENABLED=true", "DAYTONA_SANDBOX_EXECUTION=true",
		"CALLBACK_URL=https://omoi.example.com/sandbox/events", "MESSAGE_POLL_URL=https://omoi.example.com/sandbox/messages",
		"OMOIOS_ENV=production",
	}})
	require.Equal(t, []any{"daytona", "https://omoi.example.com", "production", "json"},
		[]any{loaded.Task.Provider, loaded.API.CallbackURL, loaded.Env, loaded.Log.Format})
	require.Equal(t, "production.yaml (built in)", origin(t, loaded, "log.format"))
	require.Empty(t, loaded.Warnings)
}

// The variables of OmoiOS's second document select the provider and the server.
func TestLegacyEnvironment_WorkspaceMode(t *testing.T) {
	t.Parallel()
	for mode, provider := range map[string]string{"local": "local", "docker": "docker", "daytona": "daytona", "remote": "openhands"} {
		loaded := load(t, config.Source{Environ: []string{
			"WORKSPACE_MODE=" + mode, "WORKSPACE_REMOTE_HOST=http://localhost:8000", "WORKSPACE_REMOTE_API_KEY=planted-key",
			"AGENT_SERVER_HOST=localhost", "AGENT_SERVER_PORT=8000", "AGENT_SERVER_API_KEY=other-key",
		}})
		require.Equal(t, provider, loaded.Task.Provider)
		require.Equal(t, config.OpenHands{
			URL: "http://localhost:8000", APIKey: "planted-key", Dir: "/var/tmp/omoi-openhands", Isolation: "none", ServerPort: 8000, ServerKey: "other-key",
		}, loaded.OpenHands)
	}
	own := load(t, config.Source{Environ: []string{"WORKSPACE_MODE=remote", "OMOI_TASK_PROVIDER=docker"}})
	require.Equal(t, "docker", own.Task.Provider)
}

func TestLegacyEnvironment_IsRejectedIfUnsupported(t *testing.T) {
	t.Parallel()
	for want, environ := range map[string][]string{
		"MESSAGE_POLL_URL (environment): agents take messages from the API at CALLBACK_URL": {
			"CALLBACK_URL=https://a.example.com", "MESSAGE_POLL_URL=https://b.example.com/sandbox/messages",
		},
		"MESSAGE_POLL_URL (environment)":                              {"MESSAGE_POLL_URL=https://b.example.com/hidden"},
		"Set DAYTONA_API_KEY, or leave DAYTONA_SANDBOX_EXECUTION out": {"DAYTONA_SANDBOX_EXECUTION=true"},
		"task.provider is docker. Leave one of the two out": {
			"DAYTONA_SANDBOX_EXECUTION=true", "DAYTONA_API_KEY=k", "OMOI_TASK_PROVIDER=docker",
		},
		"WORKSPACE_MODE (environment): must be local, docker, daytona or remote": {"WORKSPACE_MODE=hidden"},
		"AGENT_SERVER_HOST (environment)":                                        {"AGENT_SERVER_HOST=hidden.example.com"},
		"must end without a query":                                               {"CALLBACK_URL=https://a.example.com?x=hidden"},
		"staging.yaml not found":                                                 {"OMOIOS_ENV=staging"},
	} {
		_, err := config.Load(config.Source{Environ: environ})
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hidden")
	}
}

func TestProduction_IsReadBelowTheFilesOfTheInstallation(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	src := config.Source{Environ: []string{"OMOI_HOME=" + home, "OMOI_ENV=production"}}
	require.Equal(t, "json", load(t, src).Log.Format)
	require.Equal(t, "ai-agent-dev-light", load(t, src).Sandbox.Snapshot, "defaults stay")
	write(t, filepath.Join(home, "config", "production.yaml"), "log: {format: text}\n")
	require.Equal(t, "text", load(t, src).Log.Format)
}
