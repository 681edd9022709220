package spool_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/spool"
)

const fullDir = "OMOI_TEST_FULL_DIR"

// TestFullDisk checks that events survive in memory until there is room again. The test runs its own binary in a mount
// namespace with a tiny disk.
func TestFullDisk(t *testing.T) {
	if dir := os.Getenv(fullDir); dir != "" {
		fullDisk(t, dir)
		return
	}
	t.Parallel()
	dir := t.TempDir()
	script := "mount -t tmpfs -o size=128k none " + dir + " || exit 77; exec " + os.Args[0] + " -test.run='^TestFullDisk$' -test.v"
	args := []string{"-m", "sh", "-c", script}
	if os.Geteuid() != 0 {
		args = append([]string{"-r", "-U"}, args...)
	}
	cmd := exec.CommandContext(t.Context(), "unshare", args...)
	cmd.Env = append(os.Environ(), fullDir+"="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil && !strings.Contains(string(out), "=== RUN") {
		t.Skipf("no mount namespace here, so no full disk can be made: %s", out)
	}
	require.NoError(t, err, string(out))
}

func fullDisk(t *testing.T, dir string) {
	t.Helper()
	ballast := filepath.Join(dir, "ballast")
	s := open(t, filepath.Join(dir, "spool"), spool.Config{Memory: 32 << 10, Retry: time.Nanosecond})
	id, _ := s.ID()
	fill(t, s, 1, 5)
	_ = os.WriteFile(ballast, make([]byte, 256<<10), 0o600) // until the disk is full
	n := 5
	for ; s.DiskError() == nil; n++ {
		_, err := s.Append(body(n+1), false)
		require.NoError(t, err)
	}
	fill(t, s, n+1, n+50)
	n += 50
	requireRun(t, read(t, s, 1), 1, n)
	for ; ; n++ {
		if _, err := s.Append(body(n+1), false); err != nil {
			require.ErrorIs(t, err, spool.ErrFull, "memory has a bound too")
			break
		}
	}
	must, err := s.Append(body(n+1), true)
	require.NoError(t, err)
	n++
	require.EqualValues(t, n, must)
	require.NoError(t, s.Ack(3), "the state can be written all the same")

	require.NoError(t, os.Remove(ballast))
	fill(t, s, n+1, n+1)
	n++
	require.NoError(t, s.DiskError())
	requireRun(t, read(t, s, 4), 4, n)
	require.NoError(t, s.Close())
	s = open(t, filepath.Join(dir, "spool"), spool.Config{})
	again, _ := s.ID()
	require.Equal(t, id, again)
	requireRun(t, read(t, s, 4), 4, n)

	s = startOverAFullDisk(t, dir, s, n)
	n = int(s.Last())
	deathWithEventsInMemory(t, dir, s, n)
}

// startOverAFullDisk reopens a spool on a full disk: it accepts events and counts the dropped ones.
func startOverAFullDisk(t *testing.T, dir string, s *spool.Spool, n int) *spool.Spool {
	t.Helper()
	require.NoError(t, s.Close())
	ballast := filepath.Join(dir, "ballast")
	_ = os.WriteFile(ballast, make([]byte, 256<<10), 0o600)
	s = open(t, filepath.Join(dir, "spool"), spool.Config{Retry: time.Nanosecond})
	fill(t, s, n+1, n+2)
	requireRun(t, read(t, s, 4), 4, n+2)
	s.Drop(time.Now())
	require.NoError(t, s.Close())
	require.NoError(t, os.Remove(ballast))
	s = open(t, filepath.Join(dir, "spool"), spool.Config{})
	dropped, _ := s.Dropped()
	require.EqualValues(t, 1, dropped)
	s.Told(1)
	return s
}

// deathWithEventsInMemory checks that numbers which were in memory only are not reused after a death, because they may
// have been sent.
func deathWithEventsInMemory(t *testing.T, dir string, s *spool.Spool, n int) {
	t.Helper()
	require.NoError(t, s.Close())
	s = open(t, filepath.Join(dir, "spool"), spool.Config{Retry: time.Hour})
	id, _ := s.ID()
	_ = os.WriteFile(filepath.Join(dir, "ballast"), make([]byte, 256<<10), 0o600)
	for s.DiskError() == nil {
		n++
		_, err := s.Append(body(n), false)
		require.NoError(t, err)
	}
	require.NoError(t, s.Close())
	require.NoError(t, os.Remove(filepath.Join(dir, "ballast")))
	s = open(t, filepath.Join(dir, "spool"), spool.Config{})
	again, base := s.ID()
	require.NotEqual(t, id, again)
	require.Equal(t, s.Acked(), base)
	requireRun(t, read(t, s, base+1), int(base)+1, n-1)
}
