package e2e_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// drillReport is docs/FAILURES.md.
type drillReport struct {
	rounds  int
	seed    uint64
	tallies []*tally
}

// tally counts the strikes of a drill at one provider.
type tally struct {
	stage stage
	hits  map[string]map[string]int // step -> victim -> strikes after which the task ended as it should
	wrong int

	sandboxes, alive, unverified, unreceipted int
}

func newDrillReport(rounds int, seed uint64, stages []stage) *drillReport {
	r := &drillReport{rounds: rounds, seed: seed}
	for _, s := range stages {
		r.tallies = append(r.tallies, &tally{stage: s, hits: map[string]map[string]int{}})
	}
	return r
}

func (t *tally) add(b blow, ok bool) {
	if !ok {
		t.wrong++
		return
	}
	if t.hits[b.step] == nil {
		t.hits[b.step] = map[string]int{}
	}
	t.hits[b.step][b.victim.name]++
}

func (r *drillReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, `# What dies, and what becomes of it

Written by `+"`make drill`"+`; do not edit. At each step of a task and of its cleanup something is killed with SIGKILL at a
random moment; every fifth task is cancelled. A figure counts the strikes after which the task ended as it should: completed or
cancelled, by one attempt, or by two where the sandbox itself died.

- made: %s, with `+"`OMOI_DRILL=%d OMOI_DRILL_SEED=%d make drill`"+`
`, time.Now().UTC().Format("2006-01-02"), r.rounds, r.seed)
	for _, t := range r.tallies {
		t.print(&b)
	}
	return b.String()
}

func (t *tally) print(b *strings.Builder) {
	fmt.Fprintf(b, "\n## Sandboxes: %s\n\n", t.stage.provider)
	if t.strikes() == 0 {
		fmt.Fprintln(b, "Nothing was killed.")
		return
	}
	fmt.Fprint(b, "| strikes | tasks that ended otherwise | sandboxes made | alive | not verified gone | without receipt |\n|---:|---:|---:|---:|---:|---:|\n")
	fmt.Fprintf(b, "| %d | %d | %d | %d | %d | %d |\n\n", t.strikes(), t.wrong, t.sandboxes, t.alive, t.unverified, t.unreceipted)
	fmt.Fprint(b, "| step |")
	for _, v := range t.stage.victims {
		fmt.Fprintf(b, " %s |", v.name)
	}
	fmt.Fprint(b, "\n|---|"+strings.Repeat("---:|", len(t.stage.victims))+"\n")
	for _, step := range steps() {
		fmt.Fprintf(b, "| %s |", step)
		for _, v := range t.stage.victims {
			fmt.Fprintf(b, " %s |", t.cell(v, step))
		}
		fmt.Fprintln(b)
	}
}

func (t *tally) cell(v victim, step string) string {
	if !slices.Contains(v.steps, step) {
		return "–"
	}
	return strconv.Itoa(t.hits[step][v.name])
}

func (t *tally) strikes() int {
	n := t.wrong
	for _, victims := range t.hits {
		for _, hits := range victims {
			n += hits
		}
	}
	return n
}
