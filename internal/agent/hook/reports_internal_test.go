package hook

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/taskcontract"
)

// An agent can write any file into the folder of the reports.
func TestForward_EmitsOwnEventsOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, Open(dir, Limits{}))
	at := filepath.Join(folder(dir), reportsName)
	for name, text := range map[string]string{"1.json": `{"type": "agent.completed"}`, "2.json": `{"type": "agent.tool_refused"}`, "3.json": "{"} {
		require.NoError(t, os.WriteFile(filepath.Join(at, name), []byte(text), 0o600))
	}
	require.NoError(t, syscall.Mkfifo(filepath.Join(at, "4.json"), 0o600))
	large := filepath.Join(at, "0.json")
	require.NoError(t, os.WriteFile(large, nil, 0o600))
	require.NoError(t, os.Truncate(large, 1<<42)) // a sparse file, larger than any memory
	var emitted []string
	sent := map[string]bool{}
	again := func() { forward(dir, sent, func(kind string, _ map[string]any) { emitted = append(emitted, kind) }) }
	again()
	again()
	require.Equal(t, []string{event.AgentToolRefused}, emitted)
	require.Empty(t, sent)

	kept, text := filepath.Join(at, "5.json"), []byte(`{"type": "agent.tool_refused"}`)
	require.NoError(t, os.WriteFile(kept, text, 0o600))
	forward(dir, sent, func(string, map[string]any) { // so that the file cannot be removed
		require.NoError(t, os.Remove(kept))
		require.NoError(t, os.MkdirAll(filepath.Join(kept, "x"), 0o700))
	})
	require.NoError(t, os.RemoveAll(kept))
	require.NoError(t, os.WriteFile(kept, text, 0o600))
	again()
	require.Len(t, emitted, 1)
}

func TestRun_EndsInTime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, Open(dir, Limits{}))
	in, call := io.Pipe() // the call never arrives
	defer func() { _ = call.Close() }()
	ctx, cancel := limited(0)
	defer cancel()
	var errs strings.Builder
	require.Equal(t, ExitUnchecked, run(ctx, dir, in, &errs))
	require.Contains(t, errs.String(), "the check took more than 0s")
}

func TestRun_EndsWithItsGit(t *testing.T) {
	t.Parallel()
	dir, work := t.TempDir(), t.TempDir()
	require.NoError(t, Open(dir, Limits{Contract: taskcontract.Contract{TestsMayChange: new(bool)}, Workspace: work, Base: "main"}))
	require.NoError(t, exec.CommandContext(t.Context(), "git", "init", "-q", work).Run())
	config := filepath.Join(work, ".git", "config")
	require.NoError(t, os.Remove(config))
	require.NoError(t, syscall.Mkfifo(config, 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error)
	go func() {
		f, err := os.OpenFile(config, os.O_WRONLY, 0) // waits for Git
		cancel()
		for err == nil {
			_, err = f.WriteString("\n")
		}
		stopped <- err
	}()
	require.Equal(t, ExitUnchecked, run(ctx, dir, strings.NewReader(`{"tool_name": "Write", "tool_input": {"file_path": "a_test.go"}}`), io.Discard))
	require.ErrorIs(t, <-stopped, syscall.EPIPE)
	var emitted []string
	ForwardLeft(dir, func(kind string, data map[string]any) {
		emitted = append(emitted, fmt.Sprint(kind, data["tool"], data["file_path"]))
	})
	require.Equal(t, []string{event.AgentToolUnchecked + "Writea_test.go"}, emitted)
}
