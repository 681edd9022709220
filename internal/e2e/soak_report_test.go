package e2e_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// trend is the line of least squares through a column over the second half of a soak.
type trend struct {
	mean, perHundred float64
	rise             float64 // from the first to the last sample of the half
	noise            float64 // twice the standard error of rise
}

// most is how far a figure that levels off may rise over the half, of its mean.
const most = 0.10

// level reports whether the line is nearly flat, falls, is lost in the noise, or rises by what stays of ended tasks.
func (t trend) level(stays float64) bool {
	return t.rise <= most*t.mean || t.rise <= t.noise || t.perHundred <= stays
}

// trendOf fits a column against the number of ended tasks.
func trendOf(samples []sample, column int) trend {
	half := samples[len(samples)/2:]
	n := float64(len(half))
	var x, y float64
	for _, one := range half {
		x, y = x+float64(one.ended)/n, y+one.values[column]/n
	}
	var xx, xy, yy float64
	for _, one := range half {
		a, b := float64(one.ended)-x, one.values[column]-y
		xx, xy, yy = xx+a*a, xy+a*b, yy+b*b
	}
	if xx == 0 || n < 3 {
		return trend{mean: y}
	}
	slope, tasks := xy/xx, float64(half[len(half)-1].ended-half[0].ended)
	left := max(yy-slope*xy, 0) / (n - 2) // variance around the line
	return trend{mean: y, perHundred: 100 * slope, rise: slope * tasks, noise: 2 * math.Sqrt(left/xx) * tasks}
}

// rising lists the columns that should level off and do not.
func (s *soak) rising() []string {
	var found []string
	for i, c := range columns() {
		if t := trendOf(s.samples, i); c.levels && !t.level(c.stays) {
			found = append(found, fmt.Sprintf("%s: +%.1f over the second half, mean %.1f", c.name, t.rise, t.mean))
		}
	}
	return found
}

// String is docs/SOAK.md.
func (s *soak) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, `# A long run

Written by `+"`make soak`"+`; do not edit. One `+"`omoi dev`"+` with its default settings gets a task for the scripted agent every %s. Each task prints
54 kB, commits a file, leaves another one uncommitted and completes. The clock of retention is 9000 hours ahead, and a pass runs every 30 s.
After every %d tasks the test waits until each has ended and its sandbox is gone, and takes a sample.

- made: %s, in %s, at %s
- machine: %s
- tasks: %d, completed: %d, with more than one attempt: %d

A figure levels off if the line of least squares through the second half of its samples, against the number of ended tasks, rises by at
most %.0f %% of the mean of that half, or by less than twice the standard error of that rise (noise). Memory is proportional set size.
Of each ended task 5 KiB may stay in the retained kinds and in OMOI_HOME: rows that say what was removed and when, space that PostgreSQL
has not used again, lines of logs. Each task prints ten times that.
Not judged: WAL files, which PostgreSQL recycles up to 1 GiB (`+"`min_wal_size`"+`); the store of Temporal, whose development server keeps
closed workflows for longer than this run; the folder of sandboxes, which holds none when a sample is taken; the repository, which
holds the branches of the user; the database as a whole, in which tasks, tickets, attempts, receipts and costs stay
(docs/RETENTION.md). What retention removes from it is judged: retained kinds.

| figure | mean of the second half | per 100 tasks | rise over the half | noise | verdict |
|---|---:|---:|---:|---:|---|
`, s.every, batch, s.began.UTC().Format("2006-01-02"), s.took.Round(time.Second), version(), machine(), s.tasks, s.completed, s.retried, 100*most)
	for i, c := range columns() {
		t := trendOf(s.samples, i)
		fmt.Fprintf(&b, "| %s | %.1f | %+.2f | %+.1f | %.1f | %s |\n", c.name, t.mean, t.perHundred, t.rise, t.noise, verdict(c, t))
	}
	s.printGrowth(&b)
	s.printSamples(&b)
	return b.String()
}

func verdict(c column, t trend) string {
	switch {
	case t.level(c.stays):
		return "levels off"
	case c.levels:
		return "RISES"
	}
	return "rises, not judged"
}

// printGrowth names the tables that grew.
func (s *soak) printGrowth(b *strings.Builder) {
	fmt.Fprint(b, "\n## Tables\n\nGrowth from the start to the end, with indexes and space for new rows.\n\n| table | KiB | bytes per task |\n|---|---:|---:|\n")
	names := slices.SortedFunc(maps.Keys(s.growth), func(x, y string) int { return cmp.Or(s.growth[y]-s.growth[x], strings.Compare(x, y)) })
	for _, name := range names {
		if s.growth[name] > 0 {
			fmt.Fprintf(b, "| %s | %d | %d |\n", name, s.growth[name]/1024, s.growth[name]/s.tasks)
		}
	}
}

func (s *soak) printSamples(b *strings.Builder) {
	fmt.Fprint(b, "\n## Samples\n\n| time | tasks ended |")
	for _, c := range columns() {
		fmt.Fprintf(b, " %s |", c.name)
	}
	fmt.Fprint(b, "\n|---:|---:|"+strings.Repeat("---:|", len(columns()))+"\n")
	for _, one := range s.samples {
		fmt.Fprintf(b, "| %s | %d |", one.at.Round(time.Second), one.ended)
		for _, v := range one.values {
			fmt.Fprintf(b, " %.1f |", v)
		}
		fmt.Fprintln(b)
	}
}

func TestTrend_ToldApart(t *testing.T) {
	t.Parallel()
	line := func(from, slope float64) []sample {
		var all []sample
		for i := range 20 {
			all = append(all, sample{ended: 10 * i, values: []float64{from + slope*float64(10*i) + float64(i%3)}})
		}
		return all
	}
	require.True(t, trendOf(line(100, 0), 0).level(0), "flat with noise")
	require.True(t, trendOf(line(100, -0.3), 0).level(0), "falls")
	require.False(t, trendOf(line(100, 0.5), 0).level(0), "a leak")
	require.InDelta(t, 50, trendOf(line(100, 0.5), 0).perHundred, 5)
	warm := slices.Concat(line(0, 5)[:10], line(500, 0)[10:])
	require.True(t, trendOf(warm, 0).level(0), "rises first, as caches fill, and stays then")
}
