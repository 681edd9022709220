package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// drillReport is docs/FAILURES.md.
type drillReport struct {
	order   drillOrder
	tallies []*tally
	began   time.Time
}

func newDrillReport(o drillOrder, sites []site) *drillReport {
	r := &drillReport{order: o, began: time.Now()}
	for _, s := range sites {
		r.tallies = append(r.tallies, newTally(s, o.seed))
	}
	return r
}

// write replaces the report of an earlier drill, unless no fault hit.
func (r *drillReport) write(path string) error {
	hit := slices.ContainsFunc(r.tallies, func(t *tally) bool {
		in, after, _ := t.totals()
		return in+after > 0
	})
	if !hit {
		return fmt.Errorf("%s is unchanged: no fault hit at any provider. The skipped tests above name what this machine lacks", path)
	}
	return os.WriteFile(path, []byte(r.String()), 0o644)
}

func (r *drillReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Fault injection

Written by `+"`make drill`"+`; do not edit. The drill injects one fault into each task, at one step of the task or of its cleanup.
A fault kills a process with SIGKILL, freezes the Temporal server, or makes a provider answer wrongly.

- A server process is killed up to 40 ms after the step is scheduled. A process inside a sandbox is killed as soon as it runs.
- Each task has an expected outcome. A fault at the sandbox or its provider may cost one attempt more.
- A fault that hits after the end of its step, by Temporal's clock, is counted separately.
- Each agent changes uncommitted files all the time, about every 60 ms, and stages some. A checkpoint is taken every %s.
  A task gets another attempt after its end, unless it is over its budget.

The run:

- command: `+"`%s make drill`"+`, with %d installations in parallel at each provider
- date: %s, duration %s, version %s
- machine: %s
`, drillCheckpoints, r.order, r.order.installations(), r.began.UTC().Format("2006-01-02"), time.Since(r.began).Round(time.Minute), version(), machine())
	for _, t := range r.tallies {
		t.print(&b)
	}
	return b.String()
}

func (t *tally) print(b *strings.Builder) {
	fmt.Fprintf(b, "\n## Provider: %s\n\n", t.site.provider)
	in, after, missed := t.totals()
	if in+after+missed == 0 {
		fmt.Fprintln(b, "Skipped: this machine lacks the requirements of this provider.")
		return
	}
	fmt.Fprint(b, "| faults | in their step | after it | nothing to kill | wrong outcomes | sandboxes created | sandboxes left | deletions unverified | receipts missing |\n|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	fmt.Fprintf(b, "| %d | %d | %d | %d | %d | %d | %d | %d | %d |\n\n", in+after, in, after, missed, len(t.wrongs), t.sandboxes, t.alive, t.unverified, t.unreceipted)
	if t.loaded > 0 {
		fmt.Fprintf(b, "%d of the faults were injected beside processes that keep the machine busy; the one-minute load average reached %.0f.\n\n", t.loaded, t.highest)
	}
	t.printCells(b)
	t.printEnds(b)
	t.printNext(b)
	t.printMisses(b)
}

func (t *tally) printCells(b *strings.Builder) {
	fmt.Fprint(b, "| step |")
	for _, v := range t.site.targets {
		fmt.Fprintf(b, " %s |", v.name)
	}
	fmt.Fprint(b, "\n|---|"+strings.Repeat("---:|", len(t.site.targets))+"\n")
	for _, step := range steps() {
		fmt.Fprintf(b, "| %s |", step)
		for _, v := range t.site.targets {
			fmt.Fprintf(b, " %s |", t.figure(v.name, step))
		}
		fmt.Fprintln(b)
	}
	fmt.Fprintln(b)
	for _, v := range t.site.targets {
		if why := t.site.exclusions[v.name]; why != "" {
			fmt.Fprintf(b, "- %s: %s.\n", v.name, why)
		}
	}
}

func (t *tally) figure(target, step string) string {
	if !t.has(target, step) {
		return "–"
	}
	return strconv.Itoa(t.of(step, target).in)
}

func (t *tally) printEnds(b *strings.Builder) {
	fmt.Fprint(b, "\n| expected outcome | tasks | with one attempt more |\n|---|---:|---:|\n")
	for _, f := range outcomes() {
		got := *scoreOf(t.ends, f.name)
		fmt.Fprintf(b, "| %s | %d | %d |\n", f.name, got.tasks, got.again)
	}
	for _, wrong := range t.wrongs {
		fmt.Fprintf(b, "\nWrong outcome: %s\n", wrong)
	}
}

// printNext prints what attempts began with.
func (t *tally) printNext(b *strings.Builder) {
	n := t.began
	fmt.Fprint(b, "\nThe files with which an attempt began, compared byte by byte with those of the attempt before: paths, modes, link targets, contents, and what is staged.\n\n"+
		"| compared | equal to the last checkpoint | newer than that | marked as torn | unmarked torn, older or other | seconds lost at most | without a checkpoint before |\n|---:|---:|---:|---:|---:|---:|---:|\n")
	fmt.Fprintf(b, "| %d | %d | %d | %d | %d | %.1f | %d |\n", n.compared, n.equal, n.newer, n.torn, len(n.wrong), n.lost.Seconds(), n.none)
}

// printMisses lists the faults that hit after their step, or had nothing to kill.
func (t *tally) printMisses(b *strings.Builder) {
	var after, missed []string
	for _, one := range t.site.faults() {
		got, name := t.of(one.step, one.target.name), one.target.name+" at "+one.step
		if got.after > 0 {
			after = append(after, fmt.Sprintf("%s %d", name, got.after))
		}
		if got.missed > 0 {
			missed = append(missed, fmt.Sprintf("%s %d", name, got.missed))
		}
	}
	fmt.Fprintf(b, "\n- After their step: %s\n- Nothing to kill: %s\n", listed(after), listed(missed))
}

func listed(all []string) string {
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}

// version returns the commit of the tree under test.
func version() string {
	text, err := exec.Command("git", "describe", "--always", "--dirty", "--exclude=*").Output()
	if err != nil {
		return "an unnamed version"
	}
	return strings.TrimSpace(string(text))
}

func machine() string {
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease") // empty where there is none
	memory, _ := os.ReadFile("/proc/meminfo")
	var kib int
	_, _ = fmt.Sscanf(string(memory), "MemTotal: %d kB", &kib)
	return fmt.Sprintf("%s/%s %s, %d processors, %d GiB of memory", runtime.GOOS, runtime.GOARCH, strings.TrimSpace(string(kernel)), runtime.NumCPU(), kib>>20)
}

// needs returns the free disk that a drill requires, in bytes: databases, engines and logs of all installations, with a reserve.
func (o drillOrder) needs() uint64 {
	const gib = 1 << 30
	if o.rounds == 0 {
		return 2 * gib
	}
	return 8*gib + uint64(o.rounds)*gib/50
}

// hasDisk fails a drill early on a disk that would fill up.
func hasDisk(t *testing.T, dir string, needs uint64) {
	t.Helper()
	free, err := freeBytes(dir)
	require.NoError(t, err)
	require.GreaterOrEqual(t, free, needs, "the drill needs %d MiB of free disk in %s, which has %d: free some, or set TMPDIR to another folder", needs>>20, dir, free>>20)
}

func diskLeft(dir string) string {
	free, err := freeBytes(dir)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d MiB of disk free", free>>20)
}

func freeBytes(dir string) (uint64, error) {
	var fs syscall.Statfs_t
	err := syscall.Statfs(dir, &fs)
	return fs.Bavail * uint64(fs.Bsize), err
}
