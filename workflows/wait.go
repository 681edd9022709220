package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/task"
)

//nolint:gochecknoglobals // a constant of a type that Go has no constants of
var zeroTime time.Time

// step runs an activity. A person's fact that ends the attempt cancels it; step then waits
// until it has really ended, and reports the activity's own error all the same.
func (r *taskRun) step(ctx workflow.Context, c call, in, out any) error {
	ctx, cancel := workflow.WithCancel(ctx)
	defer cancel()
	future := c.start(ctx, in)
	asked := false
	for !future.IsReady() {
		_ = workflow.Await(ctx, func() bool { return future.IsReady() || (!asked && r.interrupted()) })
		if !future.IsReady() {
			asked = true
			cancel()
			free, _ := workflow.NewDisconnectedContext(ctx)
			_ = workflow.Await(free, future.IsReady)
		}
	}
	free, _ := workflow.NewDisconnectedContext(ctx)
	return future.Get(free, out)
}

// interrupted reports whether a person's fact is waiting that would end what is under way.
func (r *taskRun) interrupted() bool {
	for _, f := range r.inbox.facts {
		if !f.person() {
			continue
		}
		if _, eff := task.Decide(r.judge, f.Fact); decisive(eff) {
			return true
		}
	}
	return false
}

// pause waits for d or until a person's fact ends the wait.
func (r *taskRun) pause(ctx workflow.Context, d time.Duration) {
	if d > 0 {
		_, _ = workflow.AwaitWithTimeout(ctx, d, r.interrupted)
	}
}

// decisive reports whether the effects end what is under way.
func decisive(e task.Effects) bool {
	switch e.Action {
	case task.ActionBegin, task.ActionPublish, task.ActionValidate, task.ActionPark, task.ActionFinish:
		return true
	case task.ActionIgnore, task.ActionStay:
	}
	return false
}

// people judges the facts of people that have come in. over is true if one of them ends
// what is under way.
func (r *taskRun) people(ctx workflow.Context) (eff task.Effects, over bool, err error) {
	return r.judgeWaiting(ctx, true)
}

// judgeWaiting judges the waiting facts in their order until one is decisive.
func (r *taskRun) judgeWaiting(ctx workflow.Context, peopleOnly bool) (eff task.Effects, over bool, err error) {
	for {
		f, ok := r.inbox.take(peopleOnly)
		if !ok {
			return task.Effects{}, false, nil
		}
		eff = r.decide(f)
		if decisive(eff) {
			return eff, true, nil
		}
		if eff.Action == task.ActionStay || len(r.settle) > 0 {
			if err = r.project(ctx, nil); err != nil {
				return eff, false, err
			}
		}
	}
}

// decide judges one fact and notes what has to be told about it.
func (r *taskRun) decide(f fact) task.Effects {
	f = r.worded(f)
	state, eff := task.Decide(r.judge, f.Fact)
	r.judge = state
	if f.command != "" {
		r.settleCommand(f.command, eff)
	}
	if decisive(eff) {
		r.last = f
	}
	return eff
}
