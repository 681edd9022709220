package local_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/local"
	"github.com/omoi-dev/omoi/internal/task"
)

// BenchmarkSpawn measures Ensure and Start until the command runs.
func BenchmarkSpawn(b *testing.B) {
	for _, isolation := range []local.Isolation{local.IsolationAuto, local.IsolationNone} {
		b.Run(string(isolation), func(b *testing.B) {
			dir, err := os.MkdirTemp("", "omoi-bench-") //nolint:usetesting // the folders of t.TempDir are closed to other users
			require.NoError(b, err)
			require.NoError(b, os.Chmod(dir, 0o711))
			p, err := local.New(local.Config{Root: filepath.Join(dir, "root"), Isolation: isolation}, slog.New(slog.DiscardHandler))
			require.NoError(b, err)
			for b.Loop() {
				labels := sandbox.Labels{Installation: "bench", TaskID: task.NewID(), Attempt: 1, SandboxID: task.NewSandboxID()}
				_, err := p.Ensure(b.Context(), sandbox.Spec{Labels: labels})
				require.NoError(b, err)
				require.NoError(b, p.Start(b.Context(), labels, sandbox.Command{Args: []string{"sleep", "600"}}))
				b.StopTimer()
				require.NoError(b, p.Delete(b.Context(), labels))
				b.StartTimer()
			}
			require.NoError(b, os.RemoveAll(dir))
		})
	}
}
