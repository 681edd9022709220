package app

import (
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/task"
)

// near returns a configuration with the socket of an engine, with or without a listener.
func near(t *testing.T, listens bool, environ ...string) *config.Loaded {
	t.Helper()
	socket := filepath.Join(filepath.Dir(fresh(t).Home), "engine.sock")
	if listens {
		listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, listener.Close()) })
	}
	return fresh(t, append([]string{"DOCKER_HOST=unix://" + socket, "OMOI_DOCKER_ENABLED=auto"}, environ...)...)
}

func TestOffersDocker(t *testing.T) {
	t.Parallel()
	require.True(t, offersDocker(near(t, true)))
	require.False(t, offersDocker(near(t, false)))
	require.False(t, offersDocker(near(t, true, "OMOI_DOCKER_ENABLED=never")))
	require.True(t, offersDocker(near(t, false, "OMOI_DOCKER_ENABLED=always")))
	left := near(t, false)
	require.NoError(t, os.MkdirAll(filepath.Join(dockerDir(left), "omoi-something"), 0o755))
	require.True(t, offersDocker(left), "what may be left there is accounted for")

	found, err := openProviders(near(t, true), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.Contains(t, found, task.ProviderDocker)
	require.Contains(t, found.hostBound(), task.ProviderDocker)
}

func TestSettleSocket_ContainersOnBridge(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: containers get the API's socket on Linux only")
	}
	for settings, want := range map[string]bool{
		"OMOI_DOCKER_NETWORK=bridge": true, "OMOI_DOCKER_NETWORK=none": true, "OMOI_DOCKER_NETWORK=host": false,
		"CALLBACK_URL=https://omoi.example": false, "OMOI_DOCKER_ENABLED=never": false,
	} {
		cfg := near(t, true, settings)
		require.NoError(t, settleSocket(cfg))
		require.Equal(t, want, cfg.API.Socket != "", settings)
	}
}

func TestCheckDocker(t *testing.T) {
	t.Parallel()
	require.Equal(t, FindingOK, checkDocker(t.Context(), near(t, false, "OMOI_DOCKER_ENABLED=never")).Status)
	found := checkDocker(t.Context(), near(t, false))
	require.Equal(t, FindingOK, found.Status)
	require.Contains(t, found.Detail, "no usable Docker engine")
	_, err := openDocker(near(t, false), nil)
	require.ErrorIs(t, err, errNotOffered)
	for _, wanted := range []string{"OMOI_DOCKER_ENABLED=always", "OMOI_TASK_PROVIDER=docker"} {
		found = checkDocker(t.Context(), near(t, false, wanted))
		require.Equal(t, FindingFail, found.Status)
		require.Contains(t, found.Next, "docs/DOCKER.md")
		require.Contains(t, found.Next, "until then tasks in Docker sandboxes cannot run")
	}
}

// The next step "start" applies only to an engine that does not run.
func TestEngineNext(t *testing.T) {
	t.Parallel()
	refused := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	denied := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EACCES)}
	require.Contains(t, engineNext(refused), "systemctl start docker")
	require.Contains(t, engineNext(denied), "group")
	require.NotContains(t, engineNext(denied), "systemctl")
	noBridge := task.Invalid("docker.network", "the engine has none")
	require.Contains(t, engineMends(noBridge), "docker network ls")
	require.NotContains(t, engineMends(noBridge), "systemctl")
	require.Contains(t, engineMends(task.Errorf(task.CodeUnavailable, "it hangs")), "docker info")
	require.Contains(t, engineMends(task.Invalid("docker.host", "Windows")), "docker.host")
}

// An engine of the version that clients request first, without a bridge.
func TestCheckDocker_EngineWithoutBridge(t *testing.T) {
	t.Parallel()
	cfg := near(t, false, "OMOI_DOCKER_NETWORK=bridge")
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", strings.TrimPrefix(cfg.Docker.Host, "unix://"))
	require.NoError(t, err)
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/info"):
			_, _ = w.Write([]byte(`{"OSType":"linux","ServerVersion":"28"}`))
		case strings.HasSuffix(r.URL.Path, "/_ping"):
			w.Header().Set("Api-Version", "1.44")
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"message":"there is none"}`))
		}
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	found := checkDocker(t.Context(), cfg)
	require.Equal(t, FindingWarn, found.Status)
	require.Contains(t, found.Detail, `no network "bridge"`)
	require.Contains(t, found.Next, "docker.network")
	require.NotContains(t, found.Next, "systemctl")
}
