package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// sample is what one look at an installation found, in the order of columns.
type sample struct {
	at     time.Duration
	ended  int // tasks
	values []float64
}

// column is one figure of a sample.
type column struct {
	name string
	// levels says that the soak fails if it does not level off.
	levels bool
	// stays is what may stay of 100 ended tasks.
	stays float64
}

// leftOver is what 100 tasks may leave in tables that retention empties and in OMOI_HOME, in MiB: 5 KiB each, such as the row that
// says when a transcript was removed, and space that PostgreSQL has not used again. The 54 kB that each task prints would be 5 MiB.
const leftOver = 0.5

// columns are the figures of a sample.
func columns() []column {
	return []column{
		{name: "omoi MiB", levels: true},
		{name: "omoi open files", levels: true},
		{name: "omoi goroutines", levels: true},
		{name: "Temporal MiB", levels: true},
		{name: "Temporal open files", levels: true},
		{name: "PostgreSQL MiB", levels: true},
		{name: "PostgreSQL open files", levels: true},
		{name: "sandboxes MiB"},
		{name: "retained kinds MiB", levels: true, stays: leftOver},
		{name: "database MiB"},
		{name: "WAL MiB"},
		{name: "OMOI_HOME MiB", levels: true, stays: leftOver},
		{name: "Temporal store MiB"},
		{name: "repository MiB"},
	}
}

const mib = 1 << 20

// look takes a sample.
func (s *soak) look() sample {
	s.t.Helper()
	omoi := s.procs["dev"].cmd.Process.Pid
	temporal, postgres := s.servers(omoi)
	seen := s.scrape(s.url)
	store := diskOf(s.home, "temporal.db*")
	wal := s.count(`SELECT coalesce(sum(size), 0) FROM pg_ls_waldir()`)
	return sample{
		at: time.Since(s.began), ended: s.count(`SELECT count(*) FROM tasks WHERE status IN ('completed', 'failed', 'cancelled')`),
		values: []float64{
			memory(omoi), files(omoi), seen.sum("go_goroutines"),
			memory(temporal...), files(temporal...), memory(postgres...), files(postgres...),
			diskOf(filepath.Join(s.dir, "sandboxes"), "*"), s.retained(),
			float64(s.count(`SELECT pg_database_size(current_database())`)) / mib, float64(wal) / mib,
			diskOf(s.home, "*") - store, store, diskOf(s.at, "*"),
		},
	}
}

// servers finds the processes of Temporal and of PostgreSQL below those of omoi dev.
func (s *soak) servers(omoi int) (temporal, postgres []int) {
	s.t.Helper()
	for _, pid := range children(omoi) {
		raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		program, _, _ := strings.Cut(string(raw), "\x00")
		switch {
		case err != nil:
		case bytes.Contains(raw, []byte("start-dev")):
			temporal = append(temporal, pid)
		case filepath.Base(program) == "postgres":
			postgres = append(append(postgres, pid), children(pid)...)
		}
	}
	require.NotEmpty(s.t, temporal)
	require.NotEmpty(s.t, postgres)
	return temporal, postgres
}

// retained is the size of what retention removes from the database.
func (s *soak) retained() float64 {
	s.t.Helper()
	got, err := s.api.Storage(context.Background())
	require.NoError(s.t, err)
	var sum float64
	for _, kind := range got.Kinds {
		if kind.Bytes != nil {
			sum += float64(*kind.Bytes)
		}
	}
	return sum / mib
}

// sizes are the bytes of each table with its indexes; partitions count as their table.
func (s *soak) sizes() map[string]int {
	s.t.Helper()
	rows, err := s.pool.Query(context.Background(), `SELECT coalesce(inhparent::regclass::text, c.oid::regclass::text), sum(pg_total_relation_size(c.oid))
		FROM pg_class c LEFT JOIN pg_inherits ON inhrelid = c.oid WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace GROUP BY 1`)
	require.NoError(s.t, err)
	found := map[string]int{}
	var (
		table string
		size  int
	)
	_, err = pgx.ForEachRow(rows, []any{&table, &size}, func() error {
		found[table] = size
		return nil
	})
	require.NoError(s.t, err)
	return found
}

// memory is what processes have resident, each page divided by those that share it.
func memory(pids ...int) float64 {
	var sum float64
	for _, pid := range pids {
		raw, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "smaps_rollup")) // one that has ended has none
		_, rest, _ := strings.Cut(string(raw), "\nPss:")
		var kib float64
		_, _ = fmt.Sscan(rest, &kib)
		sum += kib / 1024
	}
	return sum
}

// files counts what processes have open.
func files(pids ...int) float64 {
	var sum int
	for _, pid := range pids {
		found, _ := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "fd")) // one that has ended has none
		sum += len(found)
	}
	return float64(sum)
}

// diskOf is what the files below a folder whose names match take on the disk, in MiB.
func diskOf(dir, pattern string) float64 {
	var sum int64
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil //nolint:nilerr // it has just been removed
		}
		if ok, _ := filepath.Match(pattern, entry.Name()); ok {
			if info, err := entry.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil
	})
	return float64(sum) / mib
}
