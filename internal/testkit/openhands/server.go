package openhands

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/openhands"
)

// Real returns the program of the real server, or skips the test.
func Real(t *testing.T) string {
	t.Helper()
	if os.Getenv(Asked) == "" {
		t.Skip(Skip)
	}
	path, err := Install(t.Context())
	require.NoError(t, err)
	return path
}

// Setup returns how to start a server in an empty folder with the environment of a sandbox.
func Setup(t *testing.T, program string) openhands.Setup {
	t.Helper()
	dir, home := t.TempDir(), t.TempDir()
	log, err := os.Create(filepath.Join(dir, "log"))
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("log of the server: %s", text[max(0, len(text)-8000):])
		}
	})
	return openhands.Setup{
		Program: program, Dir: filepath.Join(dir, "data"), Keys: openhands.NewKeys(), Output: log,
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LANG=C.UTF-8", "TMUX_TMPDIR=" + home},
	}
}

// Start starts a server that ends with the test.
func Start(t *testing.T, s openhands.Setup) *openhands.Server {
	t.Helper()
	server, err := openhands.Start(t.Context(), s)
	require.NoError(t, err)
	t.Cleanup(func() { server.Stop(0) })
	return server
}
