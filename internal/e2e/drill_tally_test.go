package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// tally counts the strikes of a drill at one provider. Its lanes share it.
type tally struct {
	stage stage

	mu     sync.Mutex
	cells  map[cell]*score
	ends   map[string]*score // by finish
	wrongs []string          // ends that were not as they should be
	left   []blow            // of the drill's round through all of them
	random *rand.Rand

	sandboxes, alive, unverified, unreceipted int

	loaded  int     // strikes beside a busy machine
	highest float64 // the load average of a minute beside them
}

type cell struct{ step, victim string }

// score counts where the blows of a cell fell, and what became of the tasks of an end.
type score struct {
	in, behind, missed int
	tasks, again       int // again: by one attempt more, since the blow cost one
}

func newTally(s stage, seed uint64) *tally {
	random := rand.New(rand.NewPCG(seed, uint64(len(s.provider))))
	return &tally{stage: s, cells: map[cell]*score{}, ends: map[string]*score{}, random: random}
}

// next takes a blow that no lane has made in this round.
func (t *tally) next() blow {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.left) == 0 {
		t.left = t.stage.blows()
		t.random.Shuffle(len(t.left), func(a, b int) { t.left[a], t.left[b] = t.left[b], t.left[a] })
	}
	one := t.left[0]
	t.left = t.left[1:]
	return one
}

// count notes a strike that was made beside a busy machine.
func (t *tally) count(loaded bool) {
	if !loaded {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.loaded++
	t.highest = max(t.highest, loadAverage())
}

func (t *tally) add(b *bout, where, wrong string, attempts int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := scoreOf(t.cells, cell{b.step, b.victim.name})
	switch where {
	case inStep:
		at.in++
	case behindStep:
		at.behind++
	default:
		at.missed++
	}
	if wrong != "" {
		t.wrongs = append(t.wrongs, fmt.Sprintf("%s killed at %s: %s", b.victim.name, b.step, wrong))
		return
	}
	end := scoreOf(t.ends, b.finish.name)
	end.tasks++
	if attempts > b.finish.attempts {
		end.again++
	}
}

func scoreOf[K comparable](all map[K]*score, key K) *score {
	if all[key] == nil {
		all[key] = &score{}
	}
	return all[key]
}

// settle adds what one lane has left.
func (t *tally) settle(sandboxes, alive, unverified, unreceipted int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sandboxes += sandboxes
	t.alive += alive
	t.unverified += unverified
	t.unreceipted += unreceipted
}

// of answers the score of a cell.
func (t *tally) of(step, victim string) score {
	t.mu.Lock()
	defer t.mu.Unlock()
	return *scoreOf(t.cells, cell{step, victim})
}

// strikes are those that killed something.
func (t *tally) strikes() (in, behind, missed int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.cells {
		in, behind, missed = in+s.in, behind+s.behind, missed+s.missed
	}
	return in, behind, missed
}

// holdCells insists that each victim was struck in each of its steps.
func (r *drillReport) holdCells(t *testing.T) {
	t.Helper()
	for _, one := range r.tallies {
		if in, behind, missed := one.strikes(); in+behind+missed == 0 {
			continue // the machine lacks what it needs, and has said so
		}
		for _, b := range one.stage.blows() {
			assert.Positive(t, one.of(b.step, b.victim.name).in, "%s: %s was never struck in %s", one.stage.provider, b.victim.name, b.step)
		}
	}
}

func (t *tally) has(victim, step string) bool {
	return slices.ContainsFunc(t.stage.blows(), func(b blow) bool { return b.victim.name == victim && b.step == step })
}
