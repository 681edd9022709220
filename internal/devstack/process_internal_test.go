package devstack

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An interrupted restart has removed the mark file; stop accepts that.
func TestStop_WithoutTheMark(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c, err := program{
		name: "true", path: "/bin/true", dir: dir, log: filepath.Join(dir, "log"), mark: filepath.Join(dir, "mark"),
		end: syscall.SIGTERM, die: syscall.SIGTERM,
	}.spawn(context.Background())
	require.NoError(t, err)
	<-c.done
	require.NoError(t, os.Remove(c.mark))
	require.NoError(t, c.stop(t.Context(), time.Second))
}

// stubborn returns a program that ignores SIGTERM.
func stubborn(t *testing.T) *child {
	t.Helper()
	dir := t.TempDir()
	c, err := program{
		name: "sh", path: "/bin/sh", args: []string{"-c", `trap "" TERM; echo ready; while :; do sleep 1; done`}, dir: dir, log: filepath.Join(dir, "log"),
		env: []string{"PATH=/usr/bin:/bin"}, end: syscall.SIGTERM, die: syscall.SIGKILL,
	}.spawn(t.Context())
	require.NoError(t, err)
	require.NoError(t, await(t.Context(), time.Minute, func() bool { return c.said() != "" }))
	return c
}

// The end of ctx ends the grace period of stop.
func TestStop_EndsTheGraceWithItsContext(t *testing.T) {
	t.Parallel()
	c := stubborn(t)
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error)
	go func() { stopped <- c.stop(ctx, time.Hour) }()
	cancel()
	select {
	case err := <-stopped:
		require.NoError(t, err)
	case <-time.After(time.Minute):
		t.Error("it waits for the program")
		require.NoError(t, c.process.Kill())
	}
}

// A component that is interrupted during its start gets a grace period: a killed PostgreSQL would have to recover.
func TestUp_GracePeriodDuringStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	log := filepath.Join(dir, "log")
	p := part{
		program: program{
			name: "sh", path: "/bin/sh", args: []string{"-c", `trap "echo ended; exit" TERM; echo ready; while :; do sleep 0.1; done`}, dir: dir, log: log,
			env: []string{"PATH=/usr/bin:/bin"}, end: syscall.SIGTERM, die: syscall.SIGKILL,
		},
		cfg:   withDefaults(Config{startGrace: time.Hour}),
		clear: func(context.Context) error { return nil },
		ready: func(context.Context) error {
			if said, err := os.ReadFile(log); err == nil && len(said) > 0 {
				cancel()
			}
			return context.Canceled
		},
	}
	_, err := p.up(ctx)
	require.ErrorIs(t, err, context.Canceled)
	said, err := os.ReadFile(log)
	require.NoError(t, err)
	require.Equal(t, "ready\nended\n", string(said))
}
