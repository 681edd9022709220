package e2e_test

import (
	"context"
	"time"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// target is what a drill kills, with the way to start it again.
type target struct {
	name    string
	steps   []string                          // at which it runs
	prepare func(d *drill)                    // runs before the task is created; may be nil
	inject  func(d *drill, b *injection) bool // waits for the step; false if there was nothing to kill
	restore func(d *drill)                    // runs after inject; may be nil
	inside  bool                              // it runs in the sandbox, so it may have ended before the fault
	retries bool                              // its fault may cost an attempt
	full    bool                              // too slow for CI
}

// fault is one target at one step.
type fault struct {
	target target
	step   string
}

// injection is one task with its fault.
type injection struct {
	fault
	outcome    outcome
	tries      int  // earlier injections of this fault
	goesOn     bool // the task gets another attempt after its end
	made       task.Task
	span       *span
	injectedAt time.Time // zero: there was nothing to kill
}

// faults returns all targets at all their steps.
func (s site) faults() []fault {
	var all []fault
	for _, v := range s.targets {
		for _, step := range v.steps {
			all = append(all, fault{target: v, step: step})
		}
	}
	return all
}

// someFaults returns the faults of CI: each target at a few of its steps. The seed selects the steps; as many
// consecutive seeds as there are steps cover every fault.
func someFaults(s site, seed uint64) []fault {
	var some []fault
	for i, v := range s.targets {
		if v.full {
			continue
		}
		n := len(v.steps)
		for k := range s.each {
			at := (int(seed%uint64(n)) + i + k*n/s.each) % n
			some = append(some, fault{target: v, step: v.steps[at]})
		}
	}
	return some
}

// injectSome injects each fault once, and a second time if there was nothing to kill.
func (d *drill) injectSome(few []fault) {
	for i, one := range few {
		all := outcomesOf(one.step)
		stop := d.busy(i%3 == 2)
		if b := (&injection{fault: one, outcome: all[i%len(all)], goesOn: i%4 == 0}); d.injectFault(b) == missed {
			d.injectFault(&injection{fault: one, outcome: b.outcome, tries: 1})
		}
		stop()
	}
}

// play injects one fault after the other until the given number has hit, or the time of the test is nearly over.
func (d *drill) play(rounds int) {
	const mostTries = 6 // at one fault that misses its step
	for hits := 0; hits < rounds && d.hasTime(); {
		next := d.tally.next()
		all := outcomesOf(next.step)
		loaded := 3*(hits+1) > 2*rounds // the last third, so that all installations are loaded at the same time
		stop := d.busy(loaded)
		for try := range mostTries {
			where := d.injectFault(&injection{fault: next, outcome: all[d.random.IntN(len(all))], tries: try, goesOn: true})
			if where != missed {
				hits++
				d.tally.count(loaded)
			}
			if where == inStep {
				break
			}
		}
		stop()
	}
}

// hasTime reports whether the time of the test suffices for one more task.
func (d *drill) hasTime() bool {
	end, ends := d.t.Deadline()
	return !ends || time.Until(end) > 2*taskBound
}

// taskBound ends the wait for a task that hangs. A task on a busy machine can take minutes.
const taskBound = 10 * time.Minute

// injectFault runs one task with its fault and returns where the fault hit.
func (d *drill) injectFault(b *injection) string {
	ctx, cancel := context.WithTimeout(context.Background(), taskBound)
	defer cancel()
	if b.target.prepare != nil {
		b.target.prepare(d)
	}
	begun := time.Now()
	b.made = d.submit(d.at, b.script(), b.edits(d.provider)...)
	b.span = follow(ctx, d.temporal, b.made.ID, b.step)
	ended := d.lead(ctx, b)
	if !b.target.inject(d, b) {
		b.injectedAt = time.Time{}
	} else if b.target.restore != nil {
		b.target.restore(d)
	}
	got := <-ended
	wrong, where := b.judge(got), b.position(ctx)
	d.tally.add(b, where, wrong, got.AttemptCount)
	if wrong != "" {
		d.t.Errorf("%s at %s: %s; %s", b.target.name, b.step, wrong, diskLeft(d.dir))
	}
	if b.goesOn && got.over {
		d.anotherAttempt(got.Task)
	}
	d.tally.addNext(d.compareAttempts(b.made.ID))
	d.t.Logf("%s at %s: %s; %s: %t; %s", b.target.name, b.step, where, b.outcome.name, wrong == "", time.Since(begun).Round(time.Millisecond))
	return where
}

// atRandom waits until the step is scheduled, and the first time for a random delay more. It serves
// targets that run at every step.
func (d *drill) atRandom(b *injection) bool {
	if !b.span.isScheduled() {
		return false
	}
	if b.tries == 0 {
		const longest = 40 * time.Millisecond
		timer := time.NewTimer(time.Duration(d.random.Int64N(int64(longest))))
		<-timer.C
	}
	b.injectedAt = time.Now()
	return true
}

// await calls inject every millisecond from the start of the step to its end, until it reports a hit.
func (d *drill) await(b *injection, inject func() bool) bool {
	if !b.span.isScheduled() {
		return false
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !inject() {
		select {
		case <-b.span.over:
			return false
		case <-tick.C:
		}
	}
	b.injectedAt = time.Now()
	return true
}

// serverTargets returns the parts of the installation outside sandboxes: they run at every step.
func serverTargets() []target {
	part := func(name, process string, restore func(*drill)) target {
		return target{name: name, steps: steps(), restore: restore, inject: func(d *drill, b *injection) bool {
			if !d.atRandom(b) {
				return false
			}
			d.kill(process)
			return true
		}}
	}
	return []target{
		part("worker", "worker", func(d *drill) { d.startWorker() }),
		part("API", "api", func(d *drill) { d.startAPI() }),
		frozenTemporal(5*time.Second, steps(), false),
		frozenTemporal(time.Minute, []string{contract.StartAgent, contract.CollectWork, contract.DeleteSandbox}, true),
		hostGit(),
	}
}
