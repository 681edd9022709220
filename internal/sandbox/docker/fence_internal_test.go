package docker

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
)

// Prune removes old tombstones while the provider runs, and no lock of a sandbox that exists.
func TestPrune_ByAMovedClock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, err := New(Config{StateDir: dir, Host: "unix:///nowhere", Image: "image"}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer p.Close()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "exists"), []byte("{}"), 0o600))
	f, err := takeFence(t.Context(), filepath.Join(dir, "deleted"))
	require.NoError(t, err)
	require.NoError(t, f.bury(sandbox.Labels{}))
	f.release()
	require.NoError(t, p.Prune(time.Now().Add(29*24*time.Hour)))
	require.FileExists(t, filepath.Join(dir, "deleted"))
	require.NoError(t, p.Prune(time.Now().Add(31*24*time.Hour)))
	require.NoFileExists(t, filepath.Join(dir, "deleted"))
	require.FileExists(t, filepath.Join(dir, "exists"))
}
