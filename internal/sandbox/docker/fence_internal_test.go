package docker

import (
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
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

// One pass reaches tombstones behind any number of sandboxes that exist, and behind one that it cannot read.
func TestPruneFences_CountsOnlyWhatItRemoves(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "a"), 0o700))
	for n := range mostPruned {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "b"+strconv.Itoa(n)), nil, 0o600))
	}
	f, err := takeFence(t.Context(), filepath.Join(dir, "deleted"))
	require.NoError(t, err)
	require.NoError(t, f.bury(sandbox.Labels{}))
	f.release()
	require.Error(t, pruneFences(dir, time.Now().Add(31*24*time.Hour)))
	require.NoFileExists(t, filepath.Join(dir, "deleted"))
}
