package taskcmd_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/omoi-dev/omoi/internal/cli/taskcmd"
)

// terminal collects the output of a pseudo-terminal and waits for texts in it.
type terminal struct {
	mu    sync.Mutex
	shown bytes.Buffer
	news  chan struct{}
}

func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case t.news <- struct{}{}:
	default:
	}
	return t.shown.Write(p)
}

func (t *terminal) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.shown.String()
}

// asked runs credentials set on a pseudo-terminal until the prompt appears.
func asked(ctx context.Context, t *testing.T, f *fakeAPI) (ours, theirs *os.File, screen *terminal, done chan error) {
	t.Helper()
	ours, theirs, err := pty.Open()
	require.NoError(t, err)
	screen, done = &terminal{news: make(chan struct{}, 1)}, make(chan error, 1)
	root := &cobra.Command{Use: "omoi", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(taskcmd.Commands(taskcmd.IO{
		Env: func(name string) string { return map[string]string{"OMOI_API_URL": f.url}[name] }, Stdin: theirs, Stdout: io.Discard, Stderr: screen, JSON: new(bool),
	})...)
	root.SetArgs([]string{"credentials", "set", "github"})
	go func() { done <- root.ExecuteContext(ctx) }()
	for !strings.Contains(screen.text(), "is hidden") {
		select {
		case <-screen.news:
		case err := <-done:
			t.Fatalf("it ended before it asked: %v", err)
		}
	}
	return ours, theirs, screen, done
}

func echoes(t *testing.T, f *os.File) bool {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	require.NoError(t, err)
	return state.Lflag&unix.ECHO != 0
}

func TestSecret_IsNotEchoed(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	ours, theirs, _, done := asked(t.Context(), t, f)
	require.False(t, echoes(t, theirs))
	_, err := ours.WriteString("ghp_0123456789\n")
	require.NoError(t, err)
	require.NoError(t, <-done)
	require.Equal(t, "ghp_0123456789", f.given["github"].Secret)
	require.True(t, echoes(t, theirs), "the terminal is as it was")
	require.NoError(t, theirs.Close())
	seen, _ := io.ReadAll(ours) // EIO after the other end is closed
	require.NotContains(t, string(seen), "ghp_")
	require.NoError(t, ours.Close())
}

func TestSecret_RestoresTheTerminalAfterCtrlC(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	ctx, stop := context.WithCancel(t.Context())
	ours, theirs, _, done := asked(ctx, t, f)
	stop()
	require.ErrorIs(t, <-done, context.Canceled)
	require.True(t, echoes(t, theirs))
	require.Empty(t, f.given)
	require.NoError(t, ours.Close()) // unblocks the reader
	require.NoError(t, theirs.Close())
}
