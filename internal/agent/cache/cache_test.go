package cache_test

import (
	"archive/tar"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/cache"
)

func TestACacheComesBackAsItWas(t *testing.T) {
	t.Parallel()
	from, to := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	archive := filepath.Join(t.TempDir(), "cache")
	require.NoError(t, os.MkdirAll(filepath.Join(from, "pip", "x"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(from, "pip", "x", "run"), []byte("wheel"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(from, "locked"), []byte("m"), 0o444))
	require.NoError(t, os.Symlink("pip/x", filepath.Join(from, "link")))
	require.NoError(t, cache.Pack(from, archive, 1<<20))
	require.NoError(t, cache.Unpack(archive, to))
	content, err := os.ReadFile(filepath.Join(to, "link", "run"))
	require.NoError(t, err)
	require.Equal(t, "wheel", string(content))
	info, err := os.Stat(filepath.Join(to, "pip", "x", "run"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o755), info.Mode())
	files, bytes := cache.Size(from)
	again, more := cache.Size(to)
	require.Equal(t, []int64{files, bytes}, []int64{again, more})
}

func TestNoCacheIsNone(t *testing.T) {
	t.Parallel()
	nowhere, archive := filepath.Join(t.TempDir(), "none"), filepath.Join(t.TempDir(), "cache")
	require.NoError(t, cache.Pack(nowhere, archive, 10))
	require.NoError(t, cache.Unpack(archive, nowhere))
	require.NoFileExists(t, archive)
	require.NoDirExists(t, nowhere)
}

func TestALargeCacheIsNotKept(t *testing.T) {
	t.Parallel()
	dir, archive := t.TempDir(), filepath.Join(t.TempDir(), "cache")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "much"), make([]byte, 100_000), 0o600))
	require.ErrorContains(t, cache.Pack(dir, archive, 50_000), "larger than allowed")
	left, err := os.ReadDir(filepath.Dir(archive))
	require.NoError(t, err)
	require.Empty(t, left)
}

// An archive is what some other sandbox made of it.
func TestAHostileCacheStaysInItsFolder(t *testing.T) {
	t.Parallel()
	for name, entries := range map[string][]tar.Header{
		"up":       {{Name: "../out", Typeflag: tar.TypeReg, Mode: 0o600}},
		"absolute": {{Name: "OUT", Typeflag: tar.TypeReg, Mode: 0o600}},
		"by link":  {{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "OUTDIR"}, {Name: "l/out", Typeflag: tar.TypeReg, Mode: 0o600}},
		"by dots":  {{Name: "l", Typeflag: tar.TypeSymlink, Linkname: ".."}, {Name: "l/out", Typeflag: tar.TypeReg, Mode: 0o600}},
	} {
		around := t.TempDir()
		archive := filepath.Join(around, "cache")
		f, err := os.Create(archive)
		require.NoError(t, err)
		w := tar.NewWriter(f)
		for _, entry := range entries {
			entry.Name = strings.Replace(entry.Name, "OUT", filepath.Join(around, "out"), 1)
			entry.Linkname = strings.Replace(entry.Linkname, "OUTDIR", around, 1)
			require.NoError(t, w.WriteHeader(&entry))
		}
		require.NoError(t, w.Close())
		require.NoError(t, f.Close())
		require.Error(t, cache.Unpack(archive, filepath.Join(around, "in")), name)
		require.NoFileExists(t, filepath.Join(around, "out"), name)
	}
	dir := t.TempDir()
	archive := filepath.Join(t.TempDir(), "cache")
	f, err := os.Create(archive)
	require.NoError(t, err)
	w := tar.NewWriter(f)
	require.NoError(t, w.WriteHeader(&tar.Header{Name: "suid", Typeflag: tar.TypeReg, Mode: 0o6755}))
	require.NoError(t, w.WriteHeader(&tar.Header{Name: "device", Typeflag: tar.TypeChar, Mode: 0o666}))
	require.NoError(t, w.Close())
	require.NoError(t, f.Close())
	require.NoError(t, cache.Unpack(archive, dir))
	info, err := os.Stat(filepath.Join(dir, "suid"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o755), info.Mode())
	require.NoFileExists(t, filepath.Join(dir, "device"))
}
