package docker_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/docker"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestNew_InvalidConfig(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*docker.Config){
		"root":             func(c *docker.Config) { c.User = "0:0" },
		"group of root":    func(c *docker.Config) { c.User = "1000:0" },
		"name of a user":   func(c *docker.Config) { c.User = "node" },
		"no folder":        func(c *docker.Config) { c.StateDir = "" },
		"no address":       func(c *docker.Config) { c.Host = "nowhere" },
		"too much memory":  func(c *docker.Config) { c.Limits.MemoryBytes = 1 << 40 },
		"missing TLS keys": func(c *docker.Config) { c.Host, c.CertPath = "tcp://127.0.0.1:1", "/none" },
	} {
		cfg := docker.Config{StateDir: t.TempDir()}
		change(&cfg)
		_, err := docker.New(cfg, slog.New(slog.DiscardHandler))
		require.Equal(t, task.CodeInvalid, task.CodeOf(err), name)
	}
}

// TestAPIURL checks the address of the API for each network and configured address.
func TestAPIURL(t *testing.T) {
	t.Parallel()
	const socket, here, there = "unix:///run/omoi/api.sock", "http://127.0.0.1:18000", "https://omoi.example"
	for _, c := range []struct {
		network, socketDir string
		want               sandbox.Network
		address, answer    string
	}{
		{docker.NetworkBridge, "/s", sandbox.NetworkNone, here, socket},
		{docker.NetworkNone, "/s", sandbox.NetworkHost, there, socket},
		{docker.NetworkHost, "/s", sandbox.NetworkHost, here, here},
		{docker.NetworkBridge, "/s", sandbox.NetworkHost, there, there},
		{docker.NetworkBridge, "/s", sandbox.NetworkHost, here, socket},
		{docker.NetworkBridge, "", sandbox.NetworkHost, here, "http://host.docker.internal:18000"},
		{"mine", "", sandbox.NetworkHost, "http://localhost", "http://host.docker.internal"},
		{docker.NetworkBridge, "", sandbox.NetworkHost, "http://[::1]:1/x", "http://host.docker.internal:1/x"},
	} {
		p, err := docker.New(docker.Config{StateDir: t.TempDir(), Network: c.network, APISocketDir: c.socketDir}, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		require.Equal(t, c.answer, p.APIURL(c.want, c.address, socket), "%+v", c)
		require.NoError(t, p.Close())
	}
}
