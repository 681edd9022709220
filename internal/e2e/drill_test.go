package e2e_test

import (
	"maps"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
	daytonatest "github.com/omoi-dev/omoi/internal/testkit/daytona"
)

// stage is a provider with all that may die around it.
type stage struct {
	provider string
	victims  []victim
	each     int               // strikes at each victim in CI
	absent   map[string]string // victim: why it can be struck at no other step
	open     func(t *testing.T) ground
}

// ground is what a provider works on.
type ground struct {
	settings map[string]string
	alive    func(r *rig) int // sandboxes that are there, by whatever means
	cloud    *daytonatest.Server
	engine   *engine
}

// drill is a run at one provider.
type drill struct {
	*rig
	stage
	ground

	random *rand.Rand
	tally  *tally
	at     string // the repository of its tasks
	load   *load
}

// drillOrder is how much is asked for.
type drillOrder struct {
	rounds int // strikes at each provider; 0: as few as CI takes
	seed   uint64
	load   *load // beside a third of the runs of all lanes
}

// lanes are how many installations strike side by side at one provider: most of a strike is
// waiting until a death is noticed.
func (o drillOrder) lanes() int {
	const many = 50
	if o.rounds < many {
		return 1
	}
	return 3
}

// TestLeakDrill is the proof of P1: at every step of spawn, run and delete something is
// killed; afterwards every task has ended as it should, and no sandbox is left or forgotten.
func TestLeakDrill(t *testing.T) { //nolint:tparallel // its parts run side by side, as a group
	t.Parallel()
	o := readDrillOrder(t)
	o.load = newLoad(o.rounds > 0)
	t.Cleanup(o.load.end)
	t.Logf("again: %s go test ./internal/e2e -run '^TestLeakDrill$' -count=1 -v", o)
	hasDisk(t, os.TempDir(), o.needs())
	report := newDrillReport(o, stages())
	t.Run("at", func(t *testing.T) {
		for _, tally := range report.tallies {
			for lane := range o.lanes() {
				t.Run(tally.stage.provider+"-"+strconv.Itoa(lane+1), func(t *testing.T) {
					t.Parallel()
					drillAt(t, o, lane, tally)
				})
			}
		}
	})
	if o.rounds > 0 {
		report.holdCells(t)
	}
	t.Log("\n" + report.String())
	if out := os.Getenv("OMOI_DRILL_OUT"); out != "" {
		require.NoError(t, report.write(out))
	}
}

// String is the order as a person gives it.
func (o drillOrder) String() string {
	text := "OMOI_DRILL_SEED=" + strconv.FormatUint(o.seed, 10)
	if o.rounds > 0 {
		text = "OMOI_DRILL=" + strconv.Itoa(o.rounds) + " " + text
	}
	return text
}

func readDrillOrder(t *testing.T) drillOrder {
	t.Helper()
	o := drillOrder{seed: uint64(rand.Uint32())}
	var err error
	if given := os.Getenv("OMOI_DRILL"); given != "" {
		o.rounds, err = strconv.Atoi(given)
		require.NoError(t, err, "OMOI_DRILL")
	}
	if given := os.Getenv("OMOI_DRILL_SEED"); given != "" {
		o.seed, err = strconv.ParseUint(given, 10, 64)
		require.NoError(t, err, "OMOI_DRILL_SEED")
	}
	return o
}

// drillAt strikes at one provider and counts into the tally.
func drillAt(t *testing.T, o drillOrder, lane int, tally *tally) {
	t.Helper()
	s := tally.stage
	g := s.open(t)
	settings := map[string]string{ // one of the ends is a wait that is too long, and an agent may die before it reports in
		"OMOI_TASK_IDLE_TIMEOUT": "2s", "OMOI_TASK_STARTUP_TIMEOUT": "8s",
	}
	maps.Copy(settings, g.settings)
	d := &drill{rig: newRig(t, settings), stage: s, ground: g, tally: tally, load: o.load}
	d.random = rand.New(rand.NewPCG(o.seed, uint64(len(s.provider)+lane<<8)))
	d.up()
	d.at = d.repo()
	if o.rounds == 0 {
		d.playFew(fewBlows(s, o.seed))
	} else {
		d.play((o.rounds + lane) / o.lanes())
	}
	d.settleUp()
}

func stages() []stage {
	all := []stage{
		{
			provider: task.ProviderLocal, victims: append(ourParts(), insideVictims()...), each: 2, absent: insideAbsent(),
			open: func(*testing.T) ground { return ground{alive: localAlive} },
		},
		dockerStage(),
		{provider: task.ProviderDaytona, victims: append(ourParts(), cloudVictims()...), each: 1, absent: cloudAbsent(), open: openCloud},
	}
	for _, s := range all {
		maps.Copy(s.absent, ourAbsent())
	}
	return all
}

// settleUp counts what must be nothing.
func (d *drill) settleUp() {
	d.eventually("every sandbox is verified gone", func() bool { return d.count(unverified, d.provider) == 0 })
	d.eventually("no sandbox is alive", func() bool { return d.alive(d.rig) == 0 })
	d.noLeaks()
	d.gapless()
	unreceiptedRows := d.count(unreceipted, d.provider)
	d.tally.settle(d.count(`SELECT count(*) FROM sandboxes WHERE provider = $1`, d.provider),
		d.alive(d.rig), d.count(unverified, d.provider), unreceiptedRows)
	require.Zero(d.t, unreceiptedRows, "sandboxes whose receipts do not say what became of the work")
}

const (
	unverified = `SELECT count(*) FROM sandboxes WHERE provider = $1 AND (state <> 'gone' OR gone_at IS NULL OR verified_at IS NULL OR verified_at < gone_at)`
	// A receipt says what became of the work wherever an agent was started.
	unreceipted = `SELECT count(*) FROM sandboxes WHERE provider = $1 AND (deleted_at IS NULL OR (started_at IS NOT NULL AND salvage IS NULL))`
)
