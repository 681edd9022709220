//go:build linux

package devstack

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/hostfault"
)

// A full disk does not restart Temporal: a restart frees no space.
func TestAttend_FullDiskIsNotSilence(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if err := syscall.Mount("tmpfs", home, "tmpfs", 0, "size=1m"); err != nil {
		t.Skip("SKIPPED: only root can mount a small file system: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(home, syscall.MNT_DETACH) })
	require.ErrorIs(t, os.WriteFile(filepath.Join(home, "fill"), make([]byte, 2<<20), 0o600), syscall.ENOSPC)
	s := Stack{fault: errors.New("an earlier one, of another kind")}
	var log bytes.Buffer
	p := part{
		cfg: withDefaults(Config{Home: home, Log: slog.New(slog.NewTextHandler(&log, nil))}), note: s.noteTemporal,
		answers: func(context.Context) error { return errors.New("locked") },
	}
	for range 3 {
		require.Zero(t, p.silence(t.Context(), time.Minute))
	}
	require.ErrorContains(t, s.CheckTemporal(t.Context()), "cannot write to the disk of "+home)
	require.True(t, hostfault.Is(s.CheckTemporal(t.Context())), "omoi doctor names the next step by it")
	require.Equal(t, 1, strings.Count(log.String(), "disk not writable"), "said once")
	require.NoError(t, os.Remove(filepath.Join(home, "fill")))
	require.Eventually(t, func() bool { return p.silence(t.Context(), time.Minute) > time.Minute }, 30*time.Second, 10*time.Millisecond)
	require.ErrorContains(t, s.CheckTemporal(t.Context()), "refuses writes")
	p.answers = func(context.Context) error { return nil }
	require.Zero(t, p.silence(t.Context(), time.Minute))
	require.NoError(t, s.CheckTemporal(t.Context()))
}
