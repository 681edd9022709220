package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
	"github.com/omoi-dev/omoi/internal/agent/track"
)

// Goals of the tree of a work tree: milliseconds at p95 and percent of a processor.
const (
	goalTree      = 50
	goalTreeScan  = 350
	goalProcessor = 2
	p95           = 0.95
)

// measureTrack takes the tree of a large work tree once a second, after an edit, in three ways.
func measureTrack(ctx context.Context, cfg Config, r *Report) error {
	work := filepath.Join(cfg.Dir, "work")
	folders, err := largeTree(ctx, work, cfg.Files)
	if err != nil {
		return err
	}
	for _, way := range []struct {
		what    string
		goal    float64
		watches int
		taker   func(ctx context.Context, s *gitcmd.Shadow) (taker, error)
	}{
		{what: "with watches", goal: goalTree, taker: tracked(0)},
		{what: "without watches", goal: goalTreeScan, taker: tracked(1)},
		{what: "by a scan each", taker: scanned},
	} {
		t := trees{work: work, folders: folders, dir: filepath.Join(cfg.Dir, way.what), takes: cfg.Trees, pause: cfg.Pause}
		if err := t.run(ctx, way.taker); err != nil {
			return fmt.Errorf("%s: %w", way.what, err)
		}
		r.add(t.rows(fmt.Sprintf("tree of %d files after one edit, once a second, %s", cfg.Files, way.what), way.goal)...)
		r.note("Tree of a work tree, "+way.what, "%d takes: median %.1f ms, longest %.0f ms; %d scans. %s", cfg.Trees, median(t.wall),
			quantile(t.wall, 1), t.stats.Scans, t.memory)
	}
	return nil
}

// taker takes trees.
type taker interface {
	Take(ctx context.Context) error
	Stats() track.Stats
	Close() error
}

type tracker struct{ *track.Tracker }

func (t tracker) Take(ctx context.Context) error {
	_, err := t.Tracker.Take(ctx)
	return err
}

func tracked(watches int) func(ctx context.Context, s *gitcmd.Shadow) (taker, error) {
	return func(ctx context.Context, s *gitcmd.Shadow) (taker, error) {
		t, err := track.Open(ctx, track.Config{Shadow: s, Watches: watches, Log: slog.New(slog.DiscardHandler)})
		return tracker{t}, err
	}
}

type scanner struct {
	*gitcmd.Shadow

	scans int
}

func scanned(_ context.Context, s *gitcmd.Shadow) (taker, error) { return &scanner{Shadow: s}, nil }

func (s *scanner) Take(ctx context.Context) error {
	s.scans++
	_, err := s.Shadow.Take(ctx)
	return err
}

func (s *scanner) Stats() track.Stats { return track.Stats{Scans: s.scans} }

func (s *scanner) Close() error { return nil }

// trees are the measurements of one way.
type trees struct {
	work, dir string
	folders   []string
	takes     int
	pause     time.Duration

	wall      []float64 // milliseconds
	processor float64   // percent
	stats     track.Stats
	memory    string
}

func (t *trees) run(ctx context.Context, open func(ctx context.Context, s *gitcmd.Shadow) (taker, error)) (err error) {
	shadow, err := gitcmd.Opening{Dir: t.dir, Work: t.work}.Open(ctx)
	if err != nil {
		return err
	}
	head := gitcmd.Repository(t.work).Commit(ctx, "HEAD")
	if err := errors.Join(shadow.KeepBytes(), shadow.Begin(ctx, head)); err != nil {
		return err
	}
	taker, err := open(ctx, shadow)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, taker.Close()) }()
	before := taker.Stats().Scans
	begun, used := time.Now(), processorTime()
	for n := range t.takes {
		if err := t.once(ctx, taker, n); err != nil {
			return err
		}
	}
	t.processor = max(100*float64(processorTime()-used)/float64(time.Since(begun)), 0.001)
	t.stats, t.memory = taker.Stats(), helpersMemory()
	t.stats.Scans -= before
	return nil
}

// once edits a file, takes the tree, and waits for the next second.
func (t *trees) once(ctx context.Context, taker taker, n int) error {
	next := time.After(t.pause)
	name := filepath.Join(t.folders[n*37%len(t.folders)], "f3.go")
	if err := os.WriteFile(name, []byte(strings.Repeat(fmt.Sprintf("edit %d\n", n), 200)), 0o600); err != nil {
		return fmt.Errorf("edit a file: %w", err)
	}
	scans, begun := taker.Stats().Scans, time.Now()
	if err := taker.Take(ctx); err != nil {
		return err
	}
	if wall := milliseconds(time.Since(begun)); taker.Stats().Watches > 0 || taker.Stats().Scans > scans { // else it read nothing
		t.wall = append(t.wall, wall)
	}
	<-next
	return nil
}

func (t *trees) rows(what string, goal float64) []Row {
	slices.Sort(t.wall)
	wall := Row{What: what + ", p95", Value: quantile(t.wall, p95), Measured: fmt.Sprintf("%.1f ms", quantile(t.wall, p95))}
	use := Row{What: what + ", processor", Value: t.processor, Measured: fmt.Sprintf("%.1f %%", t.processor)}
	if goal > 0 {
		wall.Goal, wall.Verdict = fmt.Sprintf("at most %.0f ms", goal), atMost(wall.Value, goal)
		use.Goal, use.Verdict = fmt.Sprintf("at most %d %%", goalProcessor), atMost(use.Value, goalProcessor)
	}
	if len(t.wall) == 0 { // no scan was due
		wall.Measured, wall.Verdict = "no scan", NotMeasured
	}
	return []Row{wall, use}
}

// largeTree makes a repository with files of 100 to 3,000 bytes, 15 in a folder, and returns the folders.
func largeTree(ctx context.Context, work string, files int) (folders []string, err error) {
	const each = 15
	for n := range files {
		folder := filepath.Join(work, fmt.Sprintf("p%d/m%d/d%d", n/each%10, n/each/10%18, n/each/180))
		if n%each == 0 {
			folders = append(folders, folder)
			err = cmp.Or(err, os.MkdirAll(folder, 0o700))
		}
		content := fmt.Sprintf("package p%d\n", n) + strings.Repeat("var x = 1\n", 10+n*7%300)
		err = cmp.Or(err, os.WriteFile(filepath.Join(folder, fmt.Sprintf("f%d.go", n%each)), []byte(content), 0o600))
	}
	if err != nil {
		return nil, fmt.Errorf("make a large work tree: %w", err)
	}
	for _, args := range [][]string{
		{"init", "--quiet"},
		{"add", "-A"},
		{"-c", "user.name=bench", "-c", "user.email=bench@example.com", "commit", "--quiet", "-m", "begin"},
		{"repack", "--quiet", "-a", "-d"},
		{"update-ref", "refs/remotes/origin/main", "HEAD"}, // as in a clone
	} {
		args = append([]string{"-C", work, "-c", "gc.auto=0"}, args...)
		if out, err := exec.CommandContext(ctx, "git", args...).CombinedOutput(); err != nil { //nolint:gosec // our own arguments
			return nil, fmt.Errorf("make a large repository: %w: %s", err, out)
		}
	}
	return folders, nil
}

// processorTime is that of this process, its children that ended, and those that run.
func processorTime() (sum time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var use syscall.Rusage
		if syscall.Getrusage(who, &use) == nil {
			sum += time.Duration(use.Utime.Nano() + use.Stime.Nano())
		}
	}
	for _, pid := range childrenOf("self") {
		text, _ := os.ReadFile("/proc/" + pid + "/stat") // gone: counted above
		fields := strings.Fields(string(text))
		for _, at := range []int{13, 14} { // user and system time, in hundredths of a second
			if len(fields) > at {
				ticks, _ := strconv.Atoi(fields[at])
				sum += time.Duration(ticks) * 10 * time.Millisecond
			}
		}
	}
	return sum
}

// helpersMemory says what the git processes take that run beside.
func helpersMemory() string {
	var all []string
	for _, pid := range childrenOf("self") {
		command, _ := os.ReadFile("/proc/" + pid + "/cmdline")
		words := strings.Split(strings.TrimSuffix(string(command), "\x00"), "\x00")
		if text := firstLine("/proc/"+pid+"/status", "VmRSS"); text != "" && words[0] == "git" {
			all = append(all, "git "+strings.Join(words[max(len(words)-2, 1):], " ")+" "+text)
		}
	}
	return strings.Join(all, ", ")
}

func childrenOf(process string) (pids []string) {
	lists, _ := filepath.Glob("/proc/" + process + "/task/*/children")
	for _, path := range lists {
		text, _ := os.ReadFile(path)
		pids = append(pids, strings.Fields(string(text))...)
	}
	return pids
}
