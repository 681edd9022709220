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

// drillCheckpoints is the interval of checkpoints.
const drillCheckpoints = "500ms"

// site is one provider with every target of its faults.
type site struct {
	provider   string
	targets    []target
	each       int               // faults at each target in CI
	exclusions map[string]string // by target: why it has no fault at the other steps
	open       func(t *testing.T) ground
}

// ground is the provider that a drill runs on.
type ground struct {
	settings map[string]string
	alive    func(r *rig) int // number of existing sandboxes
	cloud    *daytonatest.Server
	engine   *engine
}

// drill is one installation at one provider.
type drill struct {
	*rig
	site
	ground

	random *rand.Rand
	tally  *tally
	at     string // the repository of its tasks
	load   *load
}

// drillOrder is the size and the seed of a drill.
type drillOrder struct {
	rounds int // faults at each provider; 0: the few of CI
	seed   uint64
	load   *load // runs beside a third of the faults
}

// installations returns how many installations run in parallel at one provider: a fault is mostly
// a wait until the failure is detected.
func (o drillOrder) installations() int {
	const many = 50
	if o.rounds < many {
		return 1
	}
	return 3
}

// TestLeakDrill proves P1: it kills a process at every step of spawn, run and delete. Afterwards every task
// has the expected outcome, and every sandbox is deleted and recorded. Each attempt began with the files of the one before, or an earlier
// checkpoint of them.
func TestLeakDrill(t *testing.T) { //nolint:tparallel // the installations run in parallel, as a group
	t.Parallel()
	o := readDrillOrder(t)
	o.load = newLoad(o.rounds > 0)
	t.Cleanup(o.load.end)
	t.Logf("again: %s go test ./internal/e2e -run '^TestLeakDrill$' -count=1 -v", o)
	hasDisk(t, os.TempDir(), o.needs())
	report := newDrillReport(o, sites())
	t.Run("at", func(t *testing.T) {
		for _, tally := range report.tallies {
			for installation := range o.installations() {
				t.Run(tally.site.provider+"-"+strconv.Itoa(installation+1), func(t *testing.T) {
					t.Parallel()
					drillAt(t, o, installation, tally)
				})
			}
		}
	})
	if o.rounds > 0 {
		report.requireEveryCell(t)
	}
	t.Log("\n" + report.String())
	if out := os.Getenv("OMOI_DRILL_OUT"); out != "" {
		require.NoError(t, report.write(out))
	}
}

// String returns the variables that repeat the drill.
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

// drillAt injects the faults of one installation and counts them in the tally.
func drillAt(t *testing.T, o drillOrder, installation int, tally *tally) {
	t.Helper()
	s := tally.site
	g := s.open(t)
	settings := map[string]string{ // for the outcome "timed out", and for an agent that dies before its first event
		"OMOI_TASK_IDLE_TIMEOUT": "2s", "OMOI_TASK_STARTUP_TIMEOUT": "8s", "OMOI_CHECKPOINT_INTERVAL": drillCheckpoints,
	}
	maps.Copy(settings, g.settings)
	d := &drill{rig: newRig(t, settings), site: s, ground: g, tally: tally, load: o.load}
	d.random = rand.New(rand.NewPCG(o.seed, uint64(len(s.provider)+installation<<8)))
	d.up()
	d.at = d.keepingRepo()
	if o.rounds == 0 {
		d.injectSome(someFaults(s, o.seed))
	} else {
		d.play((o.rounds + installation) / o.installations())
	}
	d.verifyCleanup()
}

func sites() []site {
	all := []site{
		{
			provider: task.ProviderLocal, targets: append(serverTargets(), sandboxTargets()...), each: 2, exclusions: sandboxExclusions(),
			open: func(*testing.T) ground { return ground{alive: localAlive} },
		},
		dockerSite(),
		{provider: task.ProviderDaytona, targets: append(serverTargets(), daytonaTargets()...), each: 1, exclusions: daytonaExclusions(), open: openCloud},
	}
	for _, s := range all {
		maps.Copy(s.exclusions, serverExclusions())
	}
	return all
}

// verifyCleanup checks that no sandbox, process or event is left over.
func (d *drill) verifyCleanup() {
	d.eventually("every deletion is verified", func() bool { return d.count(unverified, d.provider) == 0 })
	d.eventually("no sandbox exists", func() bool { return d.alive(d.rig) == 0 })
	d.noLeaks()
	d.gapless()
	unreceiptedRows := d.count(unreceipted, d.provider)
	d.tally.addTotals(d.count(`SELECT count(*) FROM sandboxes WHERE provider = $1`, d.provider),
		d.alive(d.rig), d.count(unverified, d.provider), unreceiptedRows)
	require.Zero(d.t, unreceiptedRows, "sandboxes whose receipts do not name the saved work")
}

const (
	unverified = `SELECT count(*) FROM sandboxes WHERE provider = $1 AND (state <> 'gone' OR gone_at IS NULL OR verified_at IS NULL OR verified_at < gone_at)`
	// A receipt names the saved work wherever an agent was started.
	unreceipted = `SELECT count(*) FROM sandboxes WHERE provider = $1 AND (deleted_at IS NULL OR (started_at IS NOT NULL AND salvage IS NULL))`
)
