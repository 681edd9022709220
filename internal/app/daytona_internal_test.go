package app

import (
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/devstack"
)

func TestCheckDaytona(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(server.Close)
	look := func(environ ...string) Finding {
		cfg, err := config.Load(config.Source{Environ: append(environ, "OMOI_HOME="+t.TempDir(), "DAYTONA_API_URL="+server.URL)})
		require.NoError(t, err)
		return checkDaytona(t.Context(), cfg)
	}
	none := look()
	require.Equal(t, FindingOK, none.Status)
	require.Contains(t, none.Next, "DAYTONA_API_KEY")
	refused := look("DAYTONA_API_KEY=wrong")
	require.Equal(t, FindingWarn, refused.Status)
	require.Contains(t, refused.Detail, "Daytona refused the API key")
}

// With an emulator of a running omoi dev, no key is required.
func TestCheckDaytona_EmulatorNeedsNoKey(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	load := func(environ ...string) *config.Loaded {
		cfg, err := config.Load(config.Source{Environ: append(environ, "OMOI_HOME="+home)})
		require.NoError(t, err)
		return cfg
	}
	info := devstack.Info{APIURL: "http://x", DaytonaURL: "http://127.0.0.1:1/api", DaytonaKey: "its own", PID: os.Getpid()}
	require.NoError(t, devstack.WriteInfo(home, info))
	cfg := load()
	require.Contains(t, checkDaytona(t.Context(), cfg).Detail, "the emulator of the running omoi dev")
	require.Empty(t, cfg.Daytona.APIKey, "the others are looked at as they are")
	require.True(t, besideEmulator(cfg))
	require.Equal(t, "its own", cfg.Daytona.APIKey.Reveal())
	require.Equal(t, info.DaytonaURL, cfg.Daytona.APIURL)

	require.False(t, besideEmulator(load("DAYTONA_API_KEY=mine")), "who has a key means the cloud")
	info.PID = 1 << 30 // does not exist
	require.NoError(t, devstack.WriteInfo(home, info))
	require.False(t, besideEmulator(load()), "its emulator has ended with it")
}
