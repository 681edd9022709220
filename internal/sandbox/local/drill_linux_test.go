package local_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/local"
	"github.com/omoi-dev/omoi/internal/task"
)

// TestWorkerKilledAnywhere kills a worker at a random moment in the life of a sandbox. The next worker continues or
// deletes the sandbox; no process and no file is left.
func TestWorkerKilledAnywhere(t *testing.T) {
	t.Parallel()
	const rounds = 24
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for i := range rounds {
		cfg := local.Config{Root: newRoot(t), Isolation: local.IsolationAuto}
		if i%3 == 0 {
			cfg.Isolation = local.IsolationNone
		}
		labels, tag := newLabels(), fmt.Sprintf("87654.%d%d", os.Getpid(), i)
		args := []string{"sh", "-c", "echo run >> runs; sleep " + tag}
		worker, out := (&bed{cfg: cfg}).worker(t, order{Labels: labels, Args: args, Whole: true})
		line, err := out.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "begun\n", line)
		<-time.After(time.Duration(random.Int64N(int64(90 * time.Millisecond))))
		require.NoError(t, worker.Process.Kill())
		_ = worker.Wait() // killed

		p := open(t, cfg)
		if i%2 == 0 {
			goOn(t, p, labels, args)
		}
		require.NoError(t, p.Delete(t.Context(), labels))
		require.Equal(t, sandbox.StateGone, inspect(t, p, labels).State)
		require.False(t, seen(t, tag))
		require.Eventually(t, func() bool { return !seen(t, task.SandboxName(labels.SandboxID)) },
			30*time.Second, 5*time.Millisecond, "a shim that was told nothing ends by itself")
		left, err := filepath.Glob(filepath.Join(cfg.Root, "*omoi-*"))
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

func seen(t *testing.T, text string) bool {
	t.Helper()
	return slices.ContainsFunc(commandLines(t), func(line string) bool { return strings.Contains(line, text) })
}

// goOn makes the next worker repeat the same steps.
func goOn(t *testing.T, p *local.Provider, labels sandbox.Labels, args []string) {
	t.Helper()
	_, err := p.Ensure(t.Context(), sandbox.Spec{Labels: labels})
	if err != nil {
		require.ErrorIs(t, err, sandbox.ErrFenced, "unless the delete had begun")
		return
	}
	require.NoError(t, p.Start(t.Context(), labels, sandbox.Command{Args: args}))
	require.Eventually(t, func() bool {
		out, _ := run(t, p, labels, "sh", "-c", "cat runs 2>/dev/null || true")
		return out == "run\n"
	}, 30*time.Second, 10*time.Millisecond, "it runs, and once")
	require.True(t, inspect(t, p, labels).Started)
}
