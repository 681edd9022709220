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

// The few blows of CI are each victim's, and in as many runs as there are steps all blows of the drill.
func TestAFewStrikesComeToAll(t *testing.T) {
	t.Parallel()
	for _, s := range stages() {
		struck := map[cell]bool{}
		for seed := range uint64(len(steps())) {
			victims := map[string]bool{}
			for _, b := range fewBlows(s, 1<<31+seed) {
				struck[cell{b.step, b.victim.name}], victims[b.victim.name] = true, true
			}
			require.Len(t, victims, len(inCI(s.victims)), s.provider)
		}
		require.Len(t, struck, len(stage{victims: inCI(s.victims)}.blows()), s.provider)
	}
}

func inCI(all []victim) []victim {
	return slices.DeleteFunc(slices.Clone(all), func(v victim) bool { return v.full })
}

// A fault that no call of its step has met was no strike, and is not left to the next task.
func TestAFaultThatNobodyMetIsNoStrike(t *testing.T) {
	t.Parallel()
	cloud, _ := startCloud(t)
	d := &drill{ground: ground{cloud: cloud}}
	for _, v := range cloudVictims() {
		if v.inside || v.name == "daemon" {
			continue
		}
		b := &bout{span: &span{begun: make(chan struct{}), over: make(chan struct{})}}
		close(b.span.begun)
		close(b.span.over)
		if v.arm != nil {
			v.arm(d)
		}
		require.False(t, v.strike(d, b), v.name)
		require.Zero(t, b.struck)
		require.Empty(t, cloud.Faults().On(), v.name)
	}
}

// Only what fell before the end of its step counts for it.
func TestAStrikeBehindItsStepIsCountedApart(t *testing.T) {
	t.Parallel()
	s, now := &span{over: make(chan struct{})}, time.Now()
	s.ended = now
	close(s.over)
	v := victim{name: "shim"}
	all := newTally(stage{}, 1)
	for where, struck := range map[string]time.Time{inStep: now.Add(-time.Millisecond), behindStep: now, missed: {}} {
		b := &bout{blow: blow{victim: v, step: contract.StartAgent}, span: s, struck: struck}
		require.Equal(t, where, b.fell(t.Context()))
		all.add(b, b.fell(t.Context()), "", 1)
	}
	require.Equal(t, score{in: 1, behind: 1, missed: 1}, all.of(contract.StartAgent, v.name))
	in, behind, _ := all.strikes()
	require.Equal(t, 2, in+behind)
}

// Each end is told from the others.
func TestEndsAreJudged(t *testing.T) {
	t.Parallel()
	reason := func(f finish) ended {
		got := task.Task{AttemptCount: f.attempts, Attempts: []task.Attempt{{Reason: f.says}}}
		got.Status, got.FailureClass = f.status, f.class
		return ended{got, true}
	}
	for i, f := range finishes() {
		right := reason(f)
		require.Empty(t, (&bout{finish: f}).judge(right), f.name)
		right.over = false
		require.Contains(t, (&bout{finish: f}).judge(right), "does not end")
		right.over, right.AttemptCount = true, f.attempts+1
		require.NotEmpty(t, (&bout{finish: f}).judge(right), f.name)
		require.Empty(t, (&bout{finish: f, blow: blow{victim: victim{retries: true}}}).judge(right), f.name)
		for k, other := range finishes() {
			if k != i {
				require.NotEmpty(t, (&bout{finish: f}).judge(reason(other)), "%s for %s", other.name, f.name)
			}
		}
	}
}

// A drill without room says so, instead of taking for wrong what a full disk did.
func TestADrillAsksForRoom(t *testing.T) {
	t.Parallel()
	require.Greater(t, drillOrder{rounds: 300}.needs(), drillOrder{}.needs())
	free, err := freeBytes(t.TempDir())
	require.NoError(t, err)
	require.Positive(t, free)
	hasDisk(t, t.TempDir(), free/2)
}

// The report says what was struck, what was not, and why some things cannot be.
func TestTheReportTellsAll(t *testing.T) {
	t.Parallel()
	r := newDrillReport(drillOrder{rounds: 7, seed: 5}, stages()[:1])
	s := r.tallies[0].stage
	b := &bout{blow: blow{victim: s.victims[len(s.victims)-2], step: contract.StartAgent}, finish: finishes()[0]}
	r.tallies[0].add(b, inStep, "", 2)
	r.tallies[0].add(b, missed, "", 1)
	r.tallies[0].settle(3, 0, 0, 0)
	text := r.String()
	for _, says := range []string{
		"`OMOI_DRILL=7 OMOI_DRILL_SEED=5 make drill`", "| 1 | 1 | 0 | 1 | 0 | 3 | 0 | 0 | 0 |", "| StartAgent | 0 | 0 | 0 | 0 | 0 | 1 | 0 |",
		"| DeleteSandbox | 0 | 0 | 0 | 0 | – | – | – |", "- – of shim: ", "| completed | 2 | 1 |", "- met nothing: shim at StartAgent 1",
	} {
		require.Contains(t, text, says)
	}
}

// A drill on a machine where nothing can be killed does not replace what a real one found.
func TestADrillThatKilledNothingWritesNoReport(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "FAILURES.md")
	require.NoError(t, os.WriteFile(path, []byte("real"), 0o600))
	r := newDrillReport(drillOrder{rounds: 7, seed: 5}, stages())
	b := &bout{blow: blow{victim: r.tallies[0].stage.victims[0], step: contract.StartAgent}, finish: finishes()[0]}
	r.tallies[0].add(b, missed, "", 1)
	require.ErrorContains(t, r.write(path), "nothing was killed")
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "real", string(kept))

	r.tallies[0].add(b, inStep, "", 1)
	require.NoError(t, r.write(path))
	written, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, r.String()[:20], string(written)[:20])
}

// The lanes of a provider share their rounds: none comes to a blow twice before all have been made.
func TestLanesShareTheirRounds(t *testing.T) {
	t.Parallel()
	all := newTally(stages()[0], 1)
	for range 2 {
		made := map[cell]bool{}
		for range all.stage.blows() {
			b := all.next()
			made[cell{b.step, b.victim.name}] = true
		}
		require.Len(t, made, len(all.stage.blows()))
	}
}
