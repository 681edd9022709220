package app

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/config"
)

// fresh returns a configuration whose home does not exist yet, at a path that other users can enter.
func fresh(t *testing.T, environ ...string) *config.Loaded {
	t.Helper()
	dir, err := os.MkdirTemp("", "omoi-app-") //nolint:usetesting // other users must be able to enter it
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	cfg, err := config.Load(config.Source{Environ: append([]string{
		"OMOI_HOME=" + filepath.Join(dir, "home"), "OMOI_DEV_POSTGRES_DATA_ROOT=" + filepath.Join(dir, "root"), "OMOI_DOCKER_ENABLED=never",
	}, environ...)})
	require.NoError(t, err)
	return cfg
}

// A sandbox mounts the folder of the API's socket. A worker that starts before the API must find bubblewrap working.
func TestOpenProviders_CreatesSocketFolder(t *testing.T) {
	t.Parallel()
	cfg := fresh(t, "OMOI_SANDBOX_NETWORK=none")
	cfg.API.Socket = filepath.Join(cfg.Home, "elsewhere", "api.sock")
	require.NoError(t, os.Mkdir(cfg.Home, 0o755))
	var said bytes.Buffer
	_, err := openProviders(cfg, slog.New(slog.NewTextHandler(&said, nil)))
	require.NoError(t, err)
	require.DirExists(t, filepath.Dir(cfg.API.Socket))
	require.NotContains(t, said.String(), "find source path")
}

// All processes of a home use the same socket if sandboxes have no network. With network, no socket is created.
func TestSettleSocket(t *testing.T) {
	t.Parallel()
	cfg := fresh(t)
	require.NoError(t, settleSocket(cfg))
	require.Empty(t, cfg.API.Socket)
	cfg = fresh(t, "OMOI_SANDBOX_NETWORK=none")
	require.NoError(t, settleSocket(cfg))
	here := place(cfg)
	require.Equal(t, filepath.Join(here.PrivateDir("api"), "api.sock"), cfg.API.Socket)
	require.DirExists(t, filepath.Dir(cfg.API.Socket))
}

// The check changes nothing, and a missing socket folder is no fault.
func TestCheckIsolation_CreatesNoSocketFolder(t *testing.T) {
	t.Parallel()
	cfg := fresh(t)
	without := checkIsolation(cfg)
	cfg.API.Socket = filepath.Join(cfg.Home, "elsewhere", "api.sock")
	require.Equal(t, without, checkIsolation(cfg))
	require.NoDirExists(t, cfg.Home)
	require.NoDirExists(t, cfg.Dev.PostgresDataRoot)
}
