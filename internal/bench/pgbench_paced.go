package bench

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// steady runs a script at a rate into an empty table, with a checkpoint after half of the time. It returns the
// latencies of all transactions in milliseconds, smallest first, each from the time at which it was due.
func (t *replica) steady(ctx context.Context, lasts time.Duration, rate float64, script string) ([]float64, error) {
	if t.bin == "" {
		return nil, errNoPgbench
	}
	if err := t.empty(ctx); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(t.dir, "pgbench-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the log of pgbench: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // below the run's folder, which is removed
	took, err := withCheckpoint(ctx, t.pool, lasts, func(ctx context.Context) ([]float64, error) {
		if _, err := t.runPgbench(ctx, script, lasts, "-R", strconv.FormatFloat(rate, 'f', 1, 64), "-l", "--log-prefix", filepath.Join(dir, "log")); err != nil {
			return nil, err
		}
		return readLatencies(filepath.Join(dir, "log.*"))
	})
	if err == nil && len(took) == 0 && lasts < longestSteady { // a busy machine: more time, not an invented figure
		return t.steady(ctx, lasts+lasts, rate, script)
	}
	return took, err
}

// longestSteady bounds the time after which a run without a transaction is not repeated for longer.
const longestSteady = 10 * time.Second

// readLatencies reads the logs that pgbench writes, one a thread.
func readLatencies(pattern string) (took []float64, err error) {
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("read the log of pgbench: %w", err)
		}
		lines := bufio.NewScanner(file)
		for lines.Scan() {
			var client, number, microseconds int64
			if _, err := fmt.Sscan(lines.Text(), &client, &number, &microseconds); err != nil {
				continue // a transaction that was skipped or failed
			}
			took = append(took, milliseconds(time.Duration(microseconds)*time.Microsecond))
		}
		_ = file.Close() // only read
	}
	slices.Sort(took)
	return took, nil
}
