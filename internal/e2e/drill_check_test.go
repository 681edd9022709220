package e2e_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestDrill_SeedsCoverEveryFault(t *testing.T) {
	t.Parallel()
	for _, s := range sites() {
		hit := map[cell]bool{}
		for seed := range uint64(len(steps())) {
			targets := map[string]bool{}
			for _, b := range someFaults(s, 1<<31+seed) {
				hit[cell{b.step, b.target.name}], targets[b.target.name] = true, true
			}
			require.Len(t, targets, len(inCI(s.targets)), s.provider)
		}
		require.Len(t, hit, len(site{targets: inCI(s.targets)}.faults()), s.provider)
	}
}

func inCI(all []target) []target {
	return slices.DeleteFunc(slices.Clone(all), func(v target) bool { return v.full })
}

func TestDrill_UnmetFaultIsRemoved(t *testing.T) {
	t.Parallel()
	cloud, _ := startCloud(t)
	d := &drill{ground: ground{cloud: cloud}}
	for _, v := range daytonaTargets() {
		if v.inside || v.name == "daemon" {
			continue
		}
		b := &injection{span: &span{begun: make(chan struct{}), over: make(chan struct{})}}
		close(b.span.begun)
		close(b.span.over)
		if v.prepare != nil {
			v.prepare(d)
		}
		require.False(t, v.inject(d, b), v.name)
		require.Zero(t, b.injectedAt)
		require.Empty(t, cloud.Faults().On(), v.name)
	}
}

func TestDrill_FaultAfterItsStepIsCountedSeparately(t *testing.T) {
	t.Parallel()
	s, now := &span{over: make(chan struct{})}, time.Now()
	s.ended = now
	close(s.over)
	v := target{name: "shim"}
	all := newTally(site{}, 1)
	for where, at := range map[string]time.Time{inStep: now.Add(-time.Millisecond), afterStep: now, missed: {}} {
		b := &injection{fault: fault{target: v, step: contract.StartAgent}, span: s, injectedAt: at}
		require.Equal(t, where, b.position(t.Context()))
		all.add(b, b.position(t.Context()), "", 1)
	}
	require.Equal(t, score{in: 1, after: 1, missed: 1}, all.of(contract.StartAgent, v.name))
	in, after, _ := all.totals()
	require.Equal(t, 2, in+after)
}

func TestDrill_JudgesOutcomes(t *testing.T) {
	t.Parallel()
	reason := func(f outcome) ended {
		got := task.Task{AttemptCount: f.attempts, Attempts: []task.Attempt{{Reason: f.says}}}
		got.Status, got.FailureClass = f.status, f.class
		return ended{got, true}
	}
	for i, f := range outcomes() {
		right := reason(f)
		require.Empty(t, (&injection{outcome: f}).judge(right), f.name)
		right.over = false
		require.Contains(t, (&injection{outcome: f}).judge(right), "does not end")
		right.over, right.AttemptCount = true, f.attempts+1
		require.NotEmpty(t, (&injection{outcome: f}).judge(right), f.name)
		require.Empty(t, (&injection{outcome: f, fault: fault{target: target{retries: true}}}).judge(right), f.name)
		for k, other := range outcomes() {
			if k != i {
				require.NotEmpty(t, (&injection{outcome: f}).judge(reason(other)), "%s for %s", other.name, f.name)
			}
		}
	}
}

func TestDrill_RequiresFreeDisk(t *testing.T) {
	t.Parallel()
	require.Greater(t, drillOrder{rounds: 300}.needs(), drillOrder{}.needs())
	free, err := freeBytes(t.TempDir())
	require.NoError(t, err)
	require.Positive(t, free)
	hasDisk(t, t.TempDir(), free/2)
}

func TestDrill_ReportIsComplete(t *testing.T) {
	t.Parallel()
	r := newDrillReport(drillOrder{rounds: 7, seed: 5}, sites()[:1])
	s := r.tallies[0].site
	b := &injection{fault: fault{target: s.targets[len(s.targets)-2], step: contract.StartAgent}, outcome: outcomes()[0]}
	r.tallies[0].add(b, inStep, "", 2)
	r.tallies[0].add(b, missed, "", 1)
	r.tallies[0].addTotals(3, 0, 0, 0)
	r.tallies[0].addNext(nextAttempts{compared: 1, equal: 1, lost: time.Second})
	r.tallies[0].addNext(nextAttempts{compared: 1, newer: 1, none: 4, lost: 1500 * time.Millisecond})
	text := r.String()
	for _, says := range []string{
		"`OMOI_DRILL=7 OMOI_DRILL_SEED=5 make drill`", "| 1 | 1 | 0 | 1 | 0 | 3 | 0 | 0 | 0 |", "| StartAgent | 0 | 0 | 0 | 0 | 0 | 1 | 0 |",
		"| DeleteSandbox | 0 | 0 | 0 | 0 | – | – | – |", "- shim: ", "| completed | 2 | 1 |", "- Nothing to kill: shim at StartAgent 1",
		"| 2 | 1 | 1 | 0 | 0 | 1.5 | 4 |",
	} {
		require.Contains(t, text, says)
	}
}

func TestDrill_WithoutFaultsKeepsTheReport(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "FAILURES.md")
	require.NoError(t, os.WriteFile(path, []byte("real"), 0o600))
	r := newDrillReport(drillOrder{rounds: 7, seed: 5}, sites())
	b := &injection{fault: fault{target: r.tallies[0].site.targets[0], step: contract.StartAgent}, outcome: outcomes()[0]}
	r.tallies[0].add(b, missed, "", 1)
	require.ErrorContains(t, r.write(path), "no fault hit")
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "real", string(kept))

	r.tallies[0].add(b, inStep, "", 1)
	require.NoError(t, r.write(path))
	written, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, r.String()[:20], string(written)[:20])
}

func TestDrill_InstallationsShareTheirRounds(t *testing.T) {
	t.Parallel()
	all := newTally(sites()[0], 1)
	for range 2 {
		made := map[cell]bool{}
		for range all.site.faults() {
			b := all.next()
			made[cell{b.step, b.target.name}] = true
		}
		require.Len(t, made, len(all.site.faults()))
	}
}
