//go:build emulator

package app

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/config"
)

// omoi dev with the emulator runs Daytona tasks there, even if an account is configured, and leaves no files.
func TestDev_DaytonaEmulator(t *testing.T) {
	t.Parallel()
	cfg := fresh(t, "DAYTONA_API_KEY=somebody's", "DAYTONA_TARGET=eu", "SANDBOX_SNAPSHOT=our-own")
	var said []string
	d := &dev{cfg: cfg, opts: Options{DaytonaEmulator: true, Progress: func(step string) { said = append(said, step) }}}
	here := place(cfg)
	dir, err := here.MakePrivateDir("daytona-emulator")
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "of a start that was killed"), 0o700))
	end, err := d.startEmulator(t.Context())
	require.NoError(t, err)
	require.Contains(t, strings.Join(said, "\n"), "daytona.api_key is not used")
	require.NoDirExists(t, filepath.Join(dir, "of a start that was killed"))

	require.Equal(t, d.info.DaytonaURL, cfg.Daytona.APIURL)
	require.Equal(t, config.Secret(d.info.DaytonaKey), cfg.Daytona.APIKey)
	for path, want := range map[string]int{"/snapshots/our-own": 200, "/snapshots/other": 404, "/sandbox": 200} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, cfg.Daytona.APIURL+path, http.NoBody)
		require.NoError(t, err)
		request.Header.Set("Authorization", "Bearer "+cfg.Daytona.APIKey.Reveal())
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, want, response.StatusCode, path)
	}
	require.NoError(t, end())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// The demo of a coding agent names what is missing, else gives the agent a model that runs the commands.
func TestStartDemoAgent(t *testing.T) {
	t.Parallel() // TestNewRow_ReachesEverySurface needs settings that no test has read
	cfg := fresh(t, "OMOI_CLAUDE_BIN=/bin/true")
	_, _, err := StartDemoAgent(cfg, "nix", nil)
	require.ErrorContains(t, err, "expected one of claude, codex")
	_, _, err = StartDemoAgent(fresh(t, "OMOI_CLAUDE_BIN=/nonexistent/claude"), "claude", nil)
	require.ErrorContains(t, err, "Next: npm install")

	env, stop, err := StartDemoAgent(cfg, "claude", []string{"make it"})
	require.NoError(t, err)
	t.Cleanup(stop)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, env["ANTHROPIC_BASE_URL"]+"/v1/messages", strings.NewReader(`{"tools":[{"name":"Bash"}]}`))
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	said, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Contains(t, string(said), `"command":"make it"`)
}
