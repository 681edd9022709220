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

func newDrillReport(o drillOrder, stages []stage) *drillReport {
	r := &drillReport{order: o, began: time.Now()}
	for _, s := range stages {
		r.tallies = append(r.tallies, newTally(s, o.seed))
	}
	return r
}

// write replaces what an earlier drill has found, where this one has found anything.
func (r *drillReport) write(path string) error {
	struck := slices.ContainsFunc(r.tallies, func(t *tally) bool {
		in, behind, _ := t.strikes()
		return in+behind > 0
	})
	if !struck {
		return fmt.Errorf("%s stays as it is: nothing was killed at any provider; what is skipped above says what this machine lacks", path)
	}
	return os.WriteFile(path, []byte(r.String()), 0o644)
}

func (r *drillReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, `# What dies, and what becomes of it

Written by `+"`make drill`"+`; do not edit. At each step of a task and of its cleanup something is killed with SIGKILL, or answers
wrongly: once at a random moment of up to 40 ms after the step was handed out; what runs inside a sandbox as soon as it is there.
The tasks are meant to end in different ways. Each has to end as it was meant to, by as many attempts as that takes, and by one more
where the blow may cost one: where it fell on the sandbox, its provider, or what the provider answers.

- command: `+"`%s make drill`"+`, %d installations side by side at each provider
- made: %s, in %s, at %s
- machine: %s

A figure counts the strikes that fell while their step was under way, by the times that Temporal kept. A strike behind its step counts as
one, since something was killed; one that met nothing does not.
`, r.order, r.order.lanes(), r.began.UTC().Format("2006-01-02"), time.Since(r.began).Round(time.Minute), version(), machine())
	for _, t := range r.tallies {
		t.print(&b)
	}
	return b.String()
}

func (t *tally) print(b *strings.Builder) {
	fmt.Fprintf(b, "\n## Sandboxes: %s\n\n", t.stage.provider)
	in, behind, missed := t.strikes()
	if in+behind+missed == 0 {
		fmt.Fprintln(b, "Nothing was killed: this machine lacks what that takes.")
		return
	}
	fmt.Fprint(b, "| strikes | in their step | behind it | met nothing | wrong ends | sandboxes made | alive | not verified gone | without receipt |\n|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	fmt.Fprintf(b, "| %d | %d | %d | %d | %d | %d | %d | %d | %d |\n\n", in+behind, in, behind, missed, len(t.wrongs), t.sandboxes, t.alive, t.unverified, t.unreceipted)
	if t.loaded > 0 {
		fmt.Fprintf(b, "%d of the strikes fell beside processes that keep the machine busy: its load average of one minute reached %.0f.\n\n", t.loaded, t.highest)
	}
	t.printCells(b)
	t.printEnds(b)
	t.printBeside(b)
}

func (t *tally) printCells(b *strings.Builder) {
	fmt.Fprint(b, "| step |")
	for _, v := range t.stage.victims {
		fmt.Fprintf(b, " %s |", v.name)
	}
	fmt.Fprint(b, "\n|---|"+strings.Repeat("---:|", len(t.stage.victims))+"\n")
	for _, step := range steps() {
		fmt.Fprintf(b, "| %s |", step)
		for _, v := range t.stage.victims {
			fmt.Fprintf(b, " %s |", t.figure(v.name, step))
		}
		fmt.Fprintln(b)
	}
	fmt.Fprintln(b)
	for _, v := range t.stage.victims {
		if why := t.stage.absent[v.name]; why != "" {
			fmt.Fprintf(b, "- – of %s: %s\n", v.name, why)
		}
	}
}

func (t *tally) figure(victim, step string) string {
	if !t.has(victim, step) {
		return "–"
	}
	return strconv.Itoa(t.of(step, victim).in)
}

func (t *tally) printEnds(b *strings.Builder) {
	fmt.Fprint(b, "\n| meant to be | ended so | of these with one attempt more |\n|---|---:|---:|\n")
	for _, f := range finishes() {
		got := *scoreOf(t.ends, f.name)
		fmt.Fprintf(b, "| %s | %d | %d |\n", f.name, got.tasks, got.again)
	}
	for _, wrong := range t.wrongs {
		fmt.Fprintf(b, "\nWrong: %s\n", wrong)
	}
}

// printBeside lists the blows that fell behind their step or met nothing.
func (t *tally) printBeside(b *strings.Builder) {
	var behind, missed []string
	for _, one := range t.stage.blows() {
		got, name := t.of(one.step, one.victim.name), one.victim.name+" at "+one.step
		if got.behind > 0 {
			behind = append(behind, fmt.Sprintf("%s %d", name, got.behind))
		}
		if got.missed > 0 {
			missed = append(missed, fmt.Sprintf("%s %d", name, got.missed))
		}
	}
	fmt.Fprintf(b, "\n- behind their step: %s\n- met nothing: %s\n", listed(behind), listed(missed))
}

func listed(all []string) string {
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}

// version names the tree that was drilled.
func version() string {
	text, err := exec.Command("git", "describe", "--always", "--dirty", "--exclude=*").Output()
	if err != nil {
		return "an unnamed version"
	}
	return "commit " + strings.TrimSpace(string(text))
}

func machine() string {
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease") // none is said so
	memory, _ := os.ReadFile("/proc/meminfo")
	var kib int
	_, _ = fmt.Sscanf(string(memory), "MemTotal: %d kB", &kib)
	return fmt.Sprintf("%s/%s %s, %d processors, %d GiB of memory", runtime.GOOS, runtime.GOARCH, strings.TrimSpace(string(kernel)), runtime.NumCPU(), kib>>20)
}

// needs is the disk that a drill takes, with room to spare: databases, engines and logs of all installations.
func (o drillOrder) needs() uint64 {
	const gib = 1 << 30
	if o.rounds == 0 {
		return 2 * gib
	}
	return 8*gib + uint64(o.rounds)*gib/50
}

// hasDisk ends a drill before it begins where its disk would fill: what dies of that tells nothing.
func hasDisk(t *testing.T, dir string, needs uint64) {
	t.Helper()
	free, err := freeBytes(dir)
	require.NoError(t, err)
	require.GreaterOrEqual(t, free, needs, "the drill needs %d MiB of free disk in %s, where there are %d: make room, or set TMPDIR to a folder with more", needs>>20, dir, free>>20)
}

func diskLeft(dir string) string {
	free, err := freeBytes(dir)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d MiB of disk are free", free>>20)
}

func freeBytes(dir string) (uint64, error) {
	var fs syscall.Statfs_t
	err := syscall.Statfs(dir, &fs)
	return fs.Bavail * uint64(fs.Bsize), err
}
