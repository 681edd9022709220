package bench_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/bench"
	"github.com/omoi-dev/omoi/internal/devstack"
)

// TestMain lets this program be one of the servers that the intake is compared with.
func TestMain(m *testing.M) {
	baseline, err := bench.Baseline(context.Background())
	if err != nil {
		panic(err)
	}
	if !baseline {
		m.Run()
	}
}

// TestBenchRuns runs every benchmark with tiny sizes. It asks that each finds something, never
// how fast it was.
func TestBenchRuns(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("SKIPPED with -short: the benchmarks start seven servers")
	}
	if _, err := devstack.FindTemporal(""); err != nil {
		t.Skip("SKIPPED: no temporal program; make temporal builds it")
	}
	report, err := bench.Run(t.Context(), bench.Config{
		Bin: programs(t), Rounds: 1, Tasks: 4, Parallel: 2, Starts: 1, Hour: 5 * time.Second, Flood: 60,
		Spell: 100 * time.Millisecond, Agents: 1, Crowd: 3, Demos: 1,
		Slow: 500 * time.Millisecond, Clouds: 2, Ledger: 400, Alive: 40, Waiting: 300,
		Steady: 200 * time.Millisecond, Streams: 400, Watch: 200 * time.Millisecond, History: 1000,
		Files: 300, Trees: 3, Pause: time.Millisecond, Interval: 20 * time.Millisecond,
		Progress: func(text string) { t.Log(text) },
	})
	require.NoError(t, err)
	const figures = 75
	require.Len(t, report.Rows, figures)
	for _, row := range report.Rows {
		require.Contains(t, []string{"", bench.Met, bench.NotMet, bench.NotMeasured}, row.Verdict, row.What)
		require.Equal(t, row.Goal == "", row.Verdict == "", row.What)
		if row.Verdict != bench.NotMeasured {
			require.Positive(t, row.Value, row.What)
		}
	}
	text := report.Markdown(bench.NewMachine("go test", "a tree"))
	require.Contains(t, text, "| what | goal | measured | verdict |")
	require.Contains(t, text, "| StartAgent | ")
}

func TestUnknownPartIsRefused(t *testing.T) {
	t.Parallel()
	_, err := bench.Run(t.Context(), bench.Config{Only: []string{"everything"}, Dir: t.TempDir()})
	require.ErrorContains(t, err, "everything")
}

// programs builds what is measured, unless it was built for the tests already.
func programs(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("OMOI_TEST_BIN"); dir != "" {
		return dir
	}
	dir, err := os.MkdirTemp("", "omoi-bench-bin-") //nolint:usetesting // users of sandboxes cannot walk into the test's own
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	for _, name := range []string{"omoi", "omoi-agent"} {
		build := exec.CommandContext(context.Background(), "go", "build", "-o", filepath.Join(dir, name), "../../cmd/"+name)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		out, err := build.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	return dir
}
