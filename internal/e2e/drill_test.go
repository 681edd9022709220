package e2e_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/sandbox/daytona/standin"
	"github.com/omoi-dev/omoi/internal/task"
)

// drillRounds are the strikes of a drill at each provider: OMOI_DRILL, or few.
const drillRounds = 8

// victim is what a drill kills, and how it is brought back.
type victim struct {
	name    string
	steps   []string                            // at which there is something to kill
	strike  func(d *drill, made task.Task) bool // false: it was not there
	mend    func(d *drill)
	retries bool // the attempt may be lost: its work is done again by the next
}

// stage is a provider with all that may die around it.
type stage struct {
	provider string
	victims  []victim
	few      int // strikes where OMOI_DRILL names no number; 0: drillRounds
	open     func(t *testing.T) ground
}

// ground is what a provider works on.
type ground struct {
	settings map[string]string
	alive    func(r *rig) int // sandboxes that are there, by whatever means
	cloud    *standin.Server
}

// drill is a run at one provider.
type drill struct {
	*rig
	stage
	ground

	random *rand.Rand
	tally  *tally
}

// TestLeakDrill is the proof of P1: at every step of spawn, run and delete something is
// killed; afterwards every task has ended as it should, and no sandbox is left or forgotten.
func TestLeakDrill(t *testing.T) { //nolint:tparallel // its parts run side by side, as a group
	t.Parallel()
	rounds, seed := drillRounds, rand.Uint64()
	if given := os.Getenv("OMOI_DRILL"); given != "" {
		var err error
		rounds, err = strconv.Atoi(given)
		require.NoError(t, err, "OMOI_DRILL")
	}
	if given := os.Getenv("OMOI_DRILL_SEED"); given != "" {
		var err error
		seed, err = strconv.ParseUint(given, 10, 64)
		require.NoError(t, err, "OMOI_DRILL_SEED")
	}
	t.Logf("again: OMOI_DRILL=%d OMOI_DRILL_SEED=%d go test ./internal/e2e -run '^TestLeakDrill$' -count=1 -v", rounds, seed)
	report := newDrillReport(rounds, seed, stages())
	t.Run("at", func(t *testing.T) {
		for _, tally := range report.tallies {
			t.Run(tally.stage.provider, func(t *testing.T) {
				t.Parallel() // most of a strike is waiting until a death is noticed
				drillAt(t, rounds, seed, tally)
			})
		}
	})
	t.Log("\n" + report.String())
	if out := os.Getenv("OMOI_DRILL_OUT"); out != "" && !t.Failed() {
		require.NoError(t, os.WriteFile(out, []byte(report.String()), 0o644))
	}
}

// drillAt strikes at one provider and counts into the tally.
func drillAt(t *testing.T, rounds int, seed uint64, tally *tally) {
	t.Helper()
	s := tally.stage
	g := s.open(t)
	d := &drill{rig: newRig(t, g.settings), stage: s, ground: g, random: rand.New(rand.NewPCG(seed, uint64(len(s.provider)))), tally: tally}
	d.up()
	if s.few > 0 && os.Getenv("OMOI_DRILL") == "" {
		rounds = s.few
	}
	d.play(rounds)
	d.settleUp()
}

func stages() []stage {
	return []stage{
		{
			provider: task.ProviderLocal, victims: append(ourParts(), insideVictims()...),
			open: func(*testing.T) ground { return ground{alive: localAlive} },
		},
		dockerStage(),
		{provider: task.ProviderDaytona, victims: append(ourParts(), cloudVictims()...), open: openCloud},
	}
}

// blow is one strike of a drill.
type blow struct {
	victim victim
	step   string
}

// blows are all victims at all steps in a random order.
func (d *drill) blows() []blow {
	var all []blow
	for _, v := range d.victims {
		for _, step := range v.steps {
			all = append(all, blow{victim: v, step: step})
		}
	}
	d.random.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
	return all
}

// play strikes one task after the other, until so many strikes have met something.
func (d *drill) play(rounds int) {
	repo := d.repo()
	var left []blow
	for n := 0; d.tally.strikes() < rounds; n++ {
		require.Less(d.t, n, 3*rounds+10, "most strikes meet nothing")
		if len(left) == 0 {
			left = d.blows()
		}
		b := left[0]
		left = left[1:]
		steps := []string{stepWrite, stepCommit, stepUnsaved, stepComplete}
		cancelled := n%5 == 4
		if cancelled {
			steps = []string{stepWrite, stepUnsaved, stepHang}
		}
		made := d.submit(repo, script(steps...), func(in *apiclient.NewTask) { in.Sandbox = d.provider })
		if cancelled {
			d.running(made.ID)
			_, _, err := d.api.Cancel(context.Background(), made.ID, "the drill says so")
			require.NoError(d.t, err)
		}
		begun := time.Now()
		struck := d.strike(b, made)
		ok := d.judge(b, made.ID, cancelled)
		if struck {
			d.tally.add(b, ok)
		}
		d.t.Logf("%d of %d: %s at %s, met %t, as it should %t, %s", d.tally.strikes(), rounds, b.victim.name, b.step, struck, ok, time.Since(begun).Round(time.Millisecond))
	}
}

// strike waits for the step and kills, at once or a moment later. It reports whether there was
// something to kill: a cancelled task publishes nothing.
func (d *drill) strike(b blow, made task.Task) bool {
	if !d.reaches(made.ID, b.step) {
		return false
	}
	moment := time.NewTimer(time.Duration(d.random.Int64N(int64(40 * time.Millisecond))))
	<-moment.C
	struck := b.victim.strike(d, made)
	if b.victim.mend != nil {
		b.victim.mend(d)
	}
	return struck
}

// judge holds the end of a task to what it should be.
func (d *drill) judge(b blow, id string, cancelled bool) bool {
	want := task.StatusCompleted
	if cancelled {
		want = task.StatusCancelled
	}
	got := d.until(id, b.victim.name+" killed at "+b.step, func(t task.Task) bool { return t.Status.Final() })
	most := 1
	if b.victim.retries {
		most = 2
	}
	ok := got.Status == want && got.AttemptCount <= most
	if !ok {
		d.t.Errorf("%s killed at %s: the task ended as %s after %d attempts (%s)%s", b.victim.name, b.step, got.Status, got.AttemptCount, text(got.ErrorMessage), stories(got.Attempts))
	}
	return ok
}

// settleUp counts what must be nothing.
func (d *drill) settleUp() {
	d.eventually("every sandbox is verified gone", func() bool { return d.count(unverified, d.provider) == 0 })
	d.eventually("no sandbox is alive", func() bool { return d.alive(d.rig) == 0 })
	d.noLeaks()
	d.gapless()
	t := d.tally
	t.alive, t.unverified, t.unreceipted = d.alive(d.rig), d.count(unverified, d.provider), d.count(unreceipted, d.provider)
	t.sandboxes = d.count(`SELECT count(*) FROM sandboxes WHERE provider = $1`, d.provider)
	require.Zero(d.t, t.unreceipted, "sandboxes whose receipts do not say what became of the work")
}

const (
	unverified = `SELECT count(*) FROM sandboxes WHERE provider = $1 AND (state <> 'gone' OR gone_at IS NULL OR verified_at IS NULL OR verified_at < gone_at)`
	// A receipt says what became of the work wherever an agent was started.
	unreceipted = `SELECT count(*) FROM sandboxes WHERE provider = $1 AND (deleted_at IS NULL OR (started_at IS NOT NULL AND salvage IS NULL))`
)

// ourParts are the worker and the API, which may die at any time.
func ourParts() []victim {
	return []victim{
		{
			name: "worker", steps: steps(),
			strike: func(d *drill, _ task.Task) bool { d.kill("worker"); return true },
			mend:   func(d *drill) { d.startWorker() },
		},
		{
			name: "API", steps: steps(),
			strike: func(d *drill, _ task.Task) bool { d.kill("api"); return true },
			mend:   func(d *drill) { d.startAPI() },
		},
	}
}

// insideVictim is a process of a local sandbox, known by its command line.
func insideVictim(name string, at []string, known func(argv []string) bool) victim {
	return victim{
		name: name, retries: true, steps: at,
		strike: func(d *drill, made task.Task) bool {
			struck := false
			for _, pid := range processesBelow(task.SandboxName(d.task(made.ID).Attempts[0].SandboxID)) {
				if known(argvOf(pid)) {
					struck = syscall.Kill(pid, syscall.SIGKILL) == nil || struck
				}
			}
			return struck
		},
	}
}

// insideVictims are the process that holds a local sandbox together, and the agent in it.
func insideVictims() []victim {
	lives := []string{contract.StartAgent, contract.Project}
	over := []string{contract.StopAgent, contract.CollectWork, contract.Salvage, contract.DeleteSandbox}
	return []victim{
		insideVictim("shim", append(over, lives...), func(argv []string) bool { return slices.Contains(argv, "shim") }),
		insideVictim("agent", lives, func(argv []string) bool { return path.Base(argv[0]) == "omoi-agent" }),
	}
}

// processesBelow lists the processes whose command line, or that of one above them, names text:
// what runs inside does not know where it is.
func processesBelow(text string) []int {
	files, _ := filepath.Glob("/proc/[0-9]*/status")
	var found []int
	for _, file := range files {
		pid, err := strconv.Atoi(strings.Split(file, "/")[2])
		for up := pid; err == nil && up > 1; up = parentOf(up) {
			if slices.ContainsFunc(argvOf(up), func(arg string) bool { return strings.Contains(arg, text) }) {
				found = append(found, pid)
				break
			}
		}
	}
	return found
}

func argvOf(pid int) []string {
	raw, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline")) // it may be gone
	return strings.Split(string(raw), "\x00")
}

func parentOf(pid int) int {
	raw, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status")) // likewise
	_, rest, _ := strings.Cut(string(raw), "\nPPid:\t")
	parent, _, _ := strings.Cut(rest, "\n")
	up, _ := strconv.Atoi(parent)
	return up
}

func localAlive(r *rig) int {
	return len(slices.DeleteFunc(processesWith(r.env["OMOI_SANDBOX_DIR"]), func(pid int) bool { return pid == os.Getpid() }))
}
