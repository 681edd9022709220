package e2e_test

import (
	"context"
	"time"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// victim is what a drill kills, and how it is brought back.
type victim struct {
	name    string
	steps   []string                     // at which there is something to kill
	arm     func(d *drill)               // before the task is there; nil: nothing
	strike  func(d *drill, b *bout) bool // waits for the step; false: it met nothing
	mend    func(d *drill)               // of what was struck; nil: nothing
	inside  bool                         // it runs in the sandbox, so it may be gone before it is looked for
	retries bool                         // the attempt may be lost: its work is done again by the next
	full    bool                         // too long for CI
}

// blow is one strike of a drill.
type blow struct {
	victim victim
	step   string
}

// bout is one task with the blow that falls on it.
type bout struct {
	blow
	finish finish
	tries  int // of this blow before
	made   task.Task
	span   *span
	struck time.Time // zero: it met nothing
}

// blows are all victims at all steps.
func (s stage) blows() []blow {
	var all []blow
	for _, v := range s.victims {
		for _, step := range v.steps {
			all = append(all, blow{victim: v, step: step})
		}
	}
	return all
}

// fewBlows are those of CI: each victim at a few of its steps. The seed says at which; as many
// seeds in a row as there are steps make every blow.
func fewBlows(s stage, seed uint64) []blow {
	var some []blow
	for i, v := range s.victims {
		if v.full {
			continue
		}
		n := len(v.steps)
		for k := range s.each {
			at := (int(seed%uint64(n)) + i + k*n/s.each) % n
			some = append(some, blow{victim: v, step: v.steps[at]})
		}
	}
	return some
}

// playFew makes each of the blows once, and once more if it met nothing.
func (d *drill) playFew(few []blow) {
	for i, one := range few {
		all := finishesOf(one.step)
		stop := d.busy(i%3 == 2)
		if b := (&bout{blow: one, finish: all[i%len(all)]}); d.fight(b) == missed {
			d.fight(&bout{blow: one, finish: b.finish, tries: 1})
		}
		stop()
	}
}

// play strikes one task after the other, until so many strikes have met something, or the time of the test is nearly over.
func (d *drill) play(rounds int) {
	const mostTries = 6 // of a blow that falls beside its step
	for struck := 0; struck < rounds && d.hasTime(); {
		next := d.tally.next()
		all := finishesOf(next.step)
		loaded := 3*(struck+1) > 2*rounds // the last third, so that the lanes are loaded at the same time
		stop := d.busy(loaded)
		for try := range mostTries {
			where := d.fight(&bout{blow: next, finish: all[d.random.IntN(len(all))], tries: try})
			if where != missed {
				struck++
				d.tally.count(loaded)
			}
			if where == inStep {
				break
			}
		}
		stop()
	}
}

// hasTime is true as long as there is enough left to see the last task through.
func (d *drill) hasTime() bool {
	end, ends := d.t.Deadline()
	return !ends || time.Until(end) > 2*taskBound
}

// taskBound ends the wait for a task that hangs. It is long, since a busy machine may need minutes for a task.
const taskBound = 10 * time.Minute

// fight has one task carried out, with its blow, and answers where that fell.
func (d *drill) fight(b *bout) string {
	ctx, cancel := context.WithTimeout(context.Background(), taskBound)
	defer cancel()
	if b.victim.arm != nil {
		b.victim.arm(d)
	}
	begun := time.Now()
	b.made = d.submit(d.at, b.script(), b.edits(d.provider)...)
	b.span = follow(ctx, d.temporal, b.made.ID, b.step)
	ended := d.lead(ctx, b)
	if !b.victim.strike(d, b) {
		b.struck = time.Time{}
	} else if b.victim.mend != nil {
		b.victim.mend(d)
	}
	got := <-ended
	wrong, where := b.judge(got), b.fell(ctx)
	d.tally.add(b, where, wrong, got.AttemptCount)
	if wrong != "" {
		d.t.Errorf("%s killed at %s: %s; %s", b.victim.name, b.step, wrong, diskLeft(d.dir))
	}
	d.t.Logf("%s at %s: %s; %s: %t; %s", b.victim.name, b.step, where, b.finish.name, wrong == "", time.Since(begun).Round(time.Millisecond))
	return where
}

// moment waits until the step is handed out, and the first time for a random moment more. It is
// for what is there at every step.
func (d *drill) moment(b *bout) bool {
	if !b.span.comes() {
		return false
	}
	if b.tries == 0 {
		const longest = 40 * time.Millisecond
		timer := time.NewTimer(time.Duration(d.random.Int64N(int64(longest))))
		<-timer.C
	}
	b.struck = time.Now()
	return true
}

// hunt looks for a victim from when the step is handed out until it is over.
func (d *drill) hunt(b *bout, strike func() bool) bool {
	if !b.span.comes() {
		return false
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !strike() {
		select {
		case <-b.span.over:
			return false
		case <-tick.C:
		}
	}
	b.struck = time.Now()
	return true
}

// ourParts are the worker and the API, which may die at any time.
func ourParts() []victim {
	part := func(name, process string, mend func(*drill)) victim {
		return victim{name: name, steps: steps(), mend: mend, strike: func(d *drill, b *bout) bool {
			if !d.moment(b) {
				return false
			}
			d.kill(process)
			return true
		}}
	}
	return []victim{
		part("worker", "worker", func(d *drill) { d.startWorker() }),
		part("API", "api", func(d *drill) { d.startAPI() }),
		frozenVictim(5*time.Second, steps(), false),
		frozenVictim(time.Minute, []string{contract.StartAgent, contract.CollectWork, contract.DeleteSandbox}, true),
		gitVictim(),
	}
}
