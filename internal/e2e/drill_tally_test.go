package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// tally counts the faults of a drill at one provider. All installations share it.
type tally struct {
	site site

	mu     sync.Mutex
	cells  map[cell]*score
	ends   map[string]*score // by outcome
	wrongs []string          // unexpected outcomes
	left   []fault           // faults of the current round that are still to be injected
	random *rand.Rand

	sandboxes, alive, unverified, unreceipted int

	began nextAttempts

	loaded  int     // faults beside a busy machine
	highest float64 // one-minute load average
}

type cell struct{ step, target string }

// score counts where the faults of a cell hit, and the tasks of an outcome.
type score struct {
	in, after, missed int
	tasks, again      int // again: with one attempt more, since the fault cost one
}

func newTally(s site, seed uint64) *tally {
	random := rand.New(rand.NewPCG(seed, uint64(len(s.provider))))
	return &tally{site: s, cells: map[cell]*score{}, ends: map[string]*score{}, random: random}
}

// next returns a fault that no installation has injected in this round.
func (t *tally) next() fault {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.left) == 0 {
		t.left = t.site.faults()
		t.random.Shuffle(len(t.left), func(a, b int) { t.left[a], t.left[b] = t.left[b], t.left[a] })
	}
	one := t.left[0]
	t.left = t.left[1:]
	return one
}

// count counts a fault that was injected beside a busy machine.
func (t *tally) count(loaded bool) {
	if !loaded {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.loaded++
	t.highest = max(t.highest, loadAverage())
}

func (t *tally) add(b *injection, where, wrong string, attempts int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := scoreOf(t.cells, cell{b.step, b.target.name})
	switch where {
	case inStep:
		at.in++
	case afterStep:
		at.after++
	default:
		at.missed++
	}
	if wrong != "" {
		t.wrongs = append(t.wrongs, fmt.Sprintf("%s at %s: %s", b.target.name, b.step, wrong))
		return
	}
	end := scoreOf(t.ends, b.outcome.name)
	end.tasks++
	if attempts > b.outcome.attempts {
		end.again++
	}
}

func (t *tally) addNext(n nextAttempts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.began.add(n)
}

func scoreOf[K comparable](all map[K]*score, key K) *score {
	if all[key] == nil {
		all[key] = &score{}
	}
	return all[key]
}

// addTotals adds the sandboxes of one installation.
func (t *tally) addTotals(sandboxes, alive, unverified, unreceipted int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sandboxes += sandboxes
	t.alive += alive
	t.unverified += unverified
	t.unreceipted += unreceipted
}

// of returns the score of a cell.
func (t *tally) of(step, target string) score {
	t.mu.Lock()
	defer t.mu.Unlock()
	return *scoreOf(t.cells, cell{step, target})
}

// totals returns the sums over all cells.
func (t *tally) totals() (in, after, missed int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.cells {
		in, after, missed = in+s.in, after+s.after, missed+s.missed
	}
	return in, after, missed
}

// requireEveryCell requires that each target was hit in each of its steps.
func (r *drillReport) requireEveryCell(t *testing.T) {
	t.Helper()
	for _, one := range r.tallies {
		if in, after, missed := one.totals(); in+after+missed == 0 {
			continue // skipped, with the missing requirement in the log
		}
		for _, b := range one.site.faults() {
			assert.Positive(t, one.of(b.step, b.target.name).in, "%s: %s was never hit in %s", one.site.provider, b.target.name, b.step)
		}
	}
}

func (t *tally) has(target, step string) bool {
	return slices.ContainsFunc(t.site.faults(), func(b fault) bool { return b.target.name == target && b.step == step })
}
