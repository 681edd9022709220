package local_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/local"
)

// TestAPIURL_PrefersTheSocketToALoopbackAddress checks the address of an API that may restart on another port.
func TestAPIURL_PrefersTheSocketToALoopbackAddress(t *testing.T) {
	t.Parallel()
	const socket, here, there = "unix:///run/omoi/api.sock", "http://127.0.0.1:18000", "https://omoi.example"
	for _, c := range []struct {
		socketDir       string
		want            sandbox.Network
		address, answer string
	}{
		{"", sandbox.NetworkHost, here, here},
		{"/s", sandbox.NetworkHost, there, there},
		{"/s", sandbox.NetworkHost, here, "unix:///s/api.sock"},
		{"/s", sandbox.NetworkNone, there, socket},
	} {
		p := open(t, local.Config{Root: newRoot(t), Isolation: local.IsolationNone, APISocketDir: c.socketDir})
		require.Equal(t, c.answer, p.APIURL(c.want, c.address, socket), "%+v", c)
	}
	needWrap(t)
	folder := newRoot(t)
	require.NoError(t, os.Mkdir(folder, 0o755)) // the folder of t.TempDir may be closed to the users of sandboxes
	p := open(t, local.Config{Root: newRoot(t), APISocketDir: folder})
	require.Equal(t, socket, p.APIURL(sandbox.NetworkHost, here, socket))
}
