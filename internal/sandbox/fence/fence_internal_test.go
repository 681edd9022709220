package fence

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func buried(t *testing.T, path string) {
	t.Helper()
	f, err := Take(t.Context(), path)
	require.NoError(t, err)
	require.NoError(t, f.Bury())
	f.Release()
}

// Prune removes old tombstones, and no lock of a sandbox that exists.
func TestPrune_ByAMovedClock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "exists"), []byte("{}"), 0o600))
	buried(t, filepath.Join(dir, "deleted"))
	require.NoError(t, Prune(dir, time.Now().Add(29*24*time.Hour)))
	require.FileExists(t, filepath.Join(dir, "deleted"))
	require.NoError(t, Prune(dir, time.Now().Add(31*24*time.Hour)))
	require.NoFileExists(t, filepath.Join(dir, "deleted"))
	require.FileExists(t, filepath.Join(dir, "exists"))
}

// One pass reaches tombstones behind any number of sandboxes that exist, and behind one that it cannot read.
func TestPrune_CountsOnlyWhatItRemoves(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "a"), 0o700))
	for n := range mostPruned {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "b"+strconv.Itoa(n)), nil, 0o600))
	}
	buried(t, filepath.Join(dir, "deleted"))
	require.Error(t, Prune(dir, time.Now().Add(31*24*time.Hour)))
	require.NoFileExists(t, filepath.Join(dir, "deleted"))
}
