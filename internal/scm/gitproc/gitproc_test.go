package gitproc_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/scm/gitproc"
)

// A cancelled command may remove its locks before it ends.
func TestRun_SendsSIGTERMFirst(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, w := io.Pipe()
	cmd := exec.CommandContext(ctx, "sh", "-c", `trap 'echo cleaned; exit 3' TERM; echo ready; while :; do sleep 0.05; done`)
	cmd.Stdout = w
	failed := make(chan error, 1)
	go func() {
		failed <- gitproc.Run(ctx, cmd, "wait")
		_ = w.Close()
	}()
	lines := bufio.NewScanner(r)
	require.True(t, lines.Scan())
	require.Equal(t, "ready", lines.Text())
	cancel()
	require.True(t, lines.Scan())
	require.Equal(t, "cleaned", lines.Text())
	require.ErrorIs(t, <-failed, context.Canceled)
}

func TestHostFault(t *testing.T) {
	t.Parallel()
	fault := func(program string, args ...string) bool {
		err := gitproc.Run(t.Context(), exec.CommandContext(t.Context(), program, args...), "test")
		failed, ok := errors.AsType[*gitproc.Error](err)
		return ok && failed.HostFault()
	}
	require.False(t, fault("true"))
	require.False(t, fault("sh", "-c", "echo fatal: early EOF >&2; exit 128"))
	require.True(t, fault("sh", "-c", "echo fatal: write error: No space left on device >&2; exit 128"))
	require.True(t, fault("sh", "-c", "kill -9 $$"))
	require.True(t, fault("/nonexistent/git"))
}
