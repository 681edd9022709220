package hook

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/event"
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
	var errs strings.Builder
	require.Equal(t, ExitUnchecked, run(dir, in, &errs, 0))
	require.Contains(t, errs.String(), "the check took more than 0s")
}
