// Package bench measures the goals of docs/BENCHMARKS.md: omoi and its baselines, in alternating rounds of one run on one
// machine. A figure that misses its goal is reported, not an error.
package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Config is how much is measured. Zero values mean the defaults named here.
type Config struct {
	// Bin is the folder of the programs omoi and omoi-agent; it must be given.
	Bin string
	// Root is the tree whose `make build` is timed with the demo; empty: the demo alone.
	Root string
	// Dir takes everything that the run makes; default: a new folder that is removed.
	Dir string

	Rounds   int           // of what is compared, alternating; default 3
	Tasks    int           // of each kind in a round; default 60
	Parallel int           // of them at a time; default 16
	Starts   int           // tasks in local sandboxes; default 15
	Hour     time.Duration // how long an hour of an agent lasts; default 60 s
	Flood    int           // events of the busy agent; default 3000
	Spell    time.Duration // one round of one way to store events; default 4 s
	Steady   time.Duration // posts at half the top rate; default 30 s
	Streams  int           // open streams in one process; default 10,000
	Watch    time.Duration // how long their memory is watched, idle and under ingest each; default 20 s
	History  int           // events of a sandbox that is read page by page; default 100,000
	Agents   int           // starts of omoi-agent; default 5
	Crowd    int           // local sandboxes that are made at once; default 50
	Slow     time.Duration // the longest that a sandbox at the Daytona emulator takes to be ready; default 8 s
	Clouds   int           // sandboxes there, ready at times up to it; default 12
	Ledger   int           // rows that the reaper goes over; default 10,000
	Alive    int           // sandboxes that live meanwhile; default 1,000
	Waiting  int           // tasks that wait while one is let in; default 10,000
	Files    int           // in the work tree that is tracked; default 50,000
	Trees    int           // trees that are taken of it in each way; default 90
	Pause    time.Duration // from one to the next; default 1 s
	Interval time.Duration // of checkpoints; default 10 s
	Demos    int           // runs of the demo; default 2: in an empty home, then in the same
	// Only names the parts to run, as [Parts] lists them; empty: all.
	Only []string
	// Progress is told what is being done; nil: nobody.
	Progress func(text string)
}

func (c Config) withDefaults() Config {
	c.Rounds, c.Tasks, c.Parallel = or(c.Rounds, 3), or(c.Tasks, 60), or(c.Parallel, 16)
	c.Starts, c.Flood, c.Agents, c.Demos = or(c.Starts, 15), or(c.Flood, 3000), or(c.Agents, 5), or(c.Demos, 2)
	c.Hour, c.Spell = or(c.Hour, time.Minute), or(c.Spell, 4*time.Second)
	c.Steady, c.Watch = or(c.Steady, 30*time.Second), or(c.Watch, 20*time.Second)
	c.Streams, c.History, c.Crowd = or(c.Streams, 10_000), or(c.History, 100_000), or(c.Crowd, 50)
	c.Slow, c.Clouds = or(c.Slow, 8*time.Second), or(c.Clouds, 12)
	c.Ledger, c.Alive, c.Waiting = or(c.Ledger, 10_000), or(c.Alive, 1000), or(c.Waiting, 10_000)
	c.Files, c.Trees, c.Pause = or(c.Files, 50_000), or(c.Trees, 90), or(c.Pause, time.Second)
	c.Interval = or(c.Interval, 10*time.Second)
	if c.Progress == nil {
		c.Progress = func(string) {}
	}
	return c
}

func or[T int | time.Duration](v, def T) T {
	if v == 0 {
		return def
	}
	return v
}

// Row is one line of the table.
type Row struct {
	What     string
	Goal     string  // empty: a figure to compare with
	Measured string  // with its unit
	Value    float64 // of it, in the unit of the goal
	Verdict  string  // met, not met, not measured, or empty where there is no goal
}

// Verdicts of a row.
const (
	Met         = "met"
	NotMet      = "not met"
	NotMeasured = "not measured"
)

// Report is what a run found.
type Report struct {
	Rows  []Row
	Notes []Note
}

// Note is a text below the table: how a part was measured and what went into it.
type Note struct {
	Title string
	Text  string // Markdown
}

func (r *Report) add(rows ...Row) { r.Rows = append(r.Rows, rows...) }

func (r *Report) note(title, format string, args ...any) {
	r.Notes = append(r.Notes, Note{Title: title, Text: fmt.Sprintf(format, args...)})
}

// part is one of the things that are measured.
type part struct {
	name string
	run  func(ctx context.Context, cfg Config, r *Report) error
}

func parts() []part {
	return []part{
		{"start", measureStarts},
		{"spawn", measureSpawn},
		{"docker", measureDocker},
		{"daytona", measureReadiness},
		{"reaper", measureReaper},
		{"guardian", measureGuardian},
		{"conductor", measureConductor},
		{"admission", measureAdmission},
		{"tasks", measureTasks},
		{"flood", measureFlood},
		{"intake", measureIntake},
		{"burst", measureBurst},
		{"streams", measureStreams},
		{"paging", measurePaging},
		{"demo", measureDemo},
		{"agent", measureAgent},
		{"track", measureTrack},
		{"checkpoints", measureCheckpoints},
	}
}

// Parts are the names of what is measured, in their order.
func Parts() []string {
	var names []string
	for _, p := range parts() {
		names = append(names, p.name)
	}
	return names
}

// Run measures. An error is something that broke, never something that was slow; what was
// measured before it is in the report.
func Run(ctx context.Context, cfg Config) (report *Report, err error) {
	cfg, report = cfg.withDefaults(), &Report{}
	if cfg.Bin, err = filepath.Abs(cfg.Bin); err != nil { // programs run in folders of their own
		return report, fmt.Errorf("find the programs: %w", err)
	}
	for _, name := range cfg.Only {
		if !slices.Contains(Parts(), name) {
			return report, fmt.Errorf("there is no part %q; there are %v", name, Parts())
		}
	}
	if cfg.Dir == "" {
		if cfg.Dir, err = os.MkdirTemp("", "omoi-bench-"); err != nil {
			return report, fmt.Errorf("make a folder to work in: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(cfg.Dir)) }()
	}
	if err := os.Chmod(cfg.Dir, 0o755); err != nil { //nolint:gosec // users of sandboxes and of PostgreSQL walk through
		return report, fmt.Errorf("open the folder to work in: %w", err)
	}
	for _, p := range parts() {
		if len(cfg.Only) > 0 && !slices.Contains(cfg.Only, p.name) {
			continue
		}
		cfg.Progress(p.name)
		if err := p.run(ctx, cfg.in(p.name), report); err != nil {
			return report, fmt.Errorf("measure %s: %w", p.name, err)
		}
	}
	return report, nil
}

// in is the same with a folder of its own below Dir.
func (c Config) in(name string) Config {
	c.Dir = filepath.Join(c.Dir, name)
	return c
}

// atLeast and atMost judge a figure.
func atLeast(value, goal float64) string { return verdict(value >= goal) }

func atMost(value, goal float64) string { return verdict(value <= goal) }

func verdict(ok bool) string {
	if ok {
		return Met
	}
	return NotMet
}

// median is the middle of what was measured; zero of nothing.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2 //nolint:mnd // the middle
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2 //nolint:mnd // the mean of two
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func ms(value float64) string { return fmt.Sprintf("%.0f ms", value) }
