//go:build linux

package local

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const plenty = 1 << 40

func TestMeasure(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	count := func() int64 {
		t.Helper()
		sum, err := measure(dir, nil, plenty)
		require.NoError(t, err)
		return sum
	}
	require.Zero(t, count())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), make([]byte, 1<<20), 0o600))
	whole := count()
	require.InDelta(t, 1<<20, whole, 64<<10)
	for _, name := range []string{"second", "third"} {
		require.NoError(t, os.Link(filepath.Join(dir, "file"), filepath.Join(dir, name)))
	}
	require.Equal(t, whole, count(), "one file with three names")
	require.NoError(t, os.Symlink("/usr", filepath.Join(dir, "link")))
	require.Equal(t, whole+smallest, count(), "a link is not followed")
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	require.Equal(t, whole+2*smallest, count(), "a pipe is not opened")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sparse"), nil, 0o600))
	require.NoError(t, os.Truncate(filepath.Join(dir, "sparse"), 1<<30))
	require.Equal(t, whole+3*smallest, count(), "a hole takes nothing")
}

func TestMeasure_DeletedFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, "file"))
	require.NoError(t, err)
	defer file.Close()
	_, err = file.Write(make([]byte, 1<<20))
	require.NoError(t, err)
	require.NoError(t, os.Remove(file.Name()))
	sum, err := measure(dir, []int{os.Getpid()}, plenty)
	require.NoError(t, err)
	require.GreaterOrEqual(t, sum, int64(1<<20))
}

func TestMeasure_Stops(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	for range deepest + 10 {
		require.NoError(t, unix.Mkdirat(at, "d", 0o700))
		next, err := unix.Openat(at, "d", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		require.NoError(t, err)
		require.NoError(t, unix.Close(at))
		at = next
	}
	require.NoError(t, unix.Close(at))
	_, err = measure(dir, nil, plenty)
	require.ErrorIs(t, err, errTooDeep)
	_, err = measure(dir, nil, 3*smallest)
	require.NoError(t, err, "enough is enough")
	_, err = measure(filepath.Join(dir, "none"), nil, plenty)
	require.Error(t, err)
}
