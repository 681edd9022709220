package gitproc_test

import (
	"bufio"
	"context"
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
		failed <- gitproc.Run(ctx, cmd)
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
	run := func(script string) error {
		return gitproc.Run(t.Context(), exec.CommandContext(t.Context(), "sh", "-c", script))
	}
	require.False(t, gitproc.HostFault(run("true"), ""))
	require.False(t, gitproc.HostFault(run("exit 128"), "fatal: early EOF"))
	require.True(t, gitproc.HostFault(run("exit 128"), "fatal: write error: No space left on device"))
	require.True(t, gitproc.HostFault(run("kill -9 $$"), ""))
	require.True(t, gitproc.HostFault(gitproc.Run(t.Context(), exec.CommandContext(t.Context(), "/nonexistent/git")), ""))
}
