package api_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/token"
)

// TestUnixSocket_ServesSandboxTokensOnly sends requests as an agent without network could.
func TestUnixSocket_ServesSandboxTokensOnly(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "s") //nolint:usetesting // a socket's path must be short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "api.sock")
	socket, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
	require.NoError(t, err)
	ring, err := token.NewRing(token.Key{ID: "k", Secret: make([]byte, 32)}, nil)
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(api.New(api.Config{Open: true}, api.Deps{Ports: api.PortsOf(nil), Tokens: ring}))
	server.Listener = socket
	server.Start()
	t.Cleanup(server.Close)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}}
	mine := task.NewSandboxID()
	for _, c := range []struct {
		path, credential string
		want             int
	}{
		{"/health", "", 200},
		{"/api/v1/tasks", "", 401},
		{"/api/v1/tasks", "omoi_made_up", 401},
		{"/api/v1/tasks", ring.Mint(mine), 403},
		{"/api/v1/ws/events", ring.Mint(mine), 403},
		{"/api/v1/sandboxes/" + mine + "/messages", "", 401},
		{"/api/v1/sandboxes/" + task.NewSandboxID() + "/messages", ring.Mint(mine), 403},
		{"/t/" + ring.Mint(mine) + "/api/v1/tasks", "", 403},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+c.path, nil)
		require.NoError(t, err)
		if c.credential != "" {
			req.Header.Set("Authorization", "Bearer "+c.credential)
		}
		res, err := client.Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, c.want, res.StatusCode, "%s with %q", c.path, c.credential)
	}
}
