package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/task"
)

// stage is what the workflow of a task does next.
type stage string

// The stages of a task.
const (
	stay stage = "" // result of a step that decided nothing

	queued     stage = "queued"     // waits for a slot
	preparing  stage = "preparing"  // finds or creates the branch
	starting   stage = "starting"   // begins an attempt: sandbox and agent
	running    stage = "running"    // watches the agent
	retrying   stage = "retrying"   // ends an attempt, before the next one starts
	submitting stage = "submitting" // pushes the work to the branch, for a validator
	publishing stage = "publishing" // pushes the work to the branch and opens the pull request
	suspended  stage = "suspended"  // waits without a slot, until a time or for a user
	done       stage = "done"       // the task is completed, failed or cancelled
)

// runStage runs the current stage of the task and returns the next one.
func (r *taskRun) runStage(ctx workflow.Context) (stage, error) {
	r.view.enter(ctx, "")
	switch r.stage {
	case queued:
		return r.waitForSlot(ctx)
	case preparing:
		return r.ensureBranch(ctx)
	case starting:
		return r.startAttempt(ctx)
	case running:
		return r.watchAttempt(ctx)
	case retrying:
		return r.endForRetry(ctx)
	case submitting:
		return r.submit(ctx)
	case publishing:
		return r.publish(ctx)
	case suspended:
		return r.suspend(ctx)
	case stay, done:
	}
	return done, nil
}

// stageAfter returns the stage that follows from the effects of a fact, or stay if the stage does not change.
func stageAfter(e task.Effects) stage {
	switch e.Action {
	case task.ActionBegin:
		return retrying
	case task.ActionPublish:
		return publishing
	case task.ActionValidate:
		return submitting
	case task.ActionPark:
		return suspended
	case task.ActionFinish:
		return done
	case task.ActionIgnore, task.ActionStay:
	}
	return stay
}

// nextStage returns the stage of a task between two attempts or at its start.
func (r *taskRun) nextStage() stage {
	switch {
	case !r.loaded.HoldsSlot:
		return queued
	case r.judge.Stage == task.StagePublish:
		return publishing
	case !r.branched:
		return preparing
	case r.judge.Stage == task.StageSubmit, r.loaded.Saved:
		return submitting
	}
	return starting
}

// do runs a step of a stage. It returns the stage that follows from a user's fact or from the step's failure, or stay.
func (r *taskRun) do(ctx workflow.Context, c call, in, out any) (stage, error) {
	return r.afterStep(ctx, r.step(ctx, c, in, out))
}

// afterStep applies the user facts that arrived during a step, and then judges the step's failure. A nil failure is success.
func (r *taskRun) afterStep(ctx workflow.Context, failure error) (stage, error) {
	if next, err := r.applyUserFacts(ctx); next != stay || err != nil {
		return next, err
	}
	if failure != nil {
		return r.failed(ctx, failure), nil
	}
	return stay, nil
}

// step runs an activity. A user's fact that ends the attempt cancels the activity. In every case step waits until the
// activity has ended, and returns its error.
func (r *taskRun) step(ctx workflow.Context, c call, in, out any) error {
	return r.stepUntil(ctx, r.interrupted, c, in, out)
}

// stepUntil is step with another condition that cancels the activity.
func (r *taskRun) stepUntil(ctx workflow.Context, stop func() bool, c call, in, out any) error {
	cancellable, cancel := workflow.WithCancel(ctx)
	defer cancel()
	future := c.start(cancellable, in)
	_ = workflow.Await(ctx, func() bool { return future.IsReady() || stop() })
	if !future.IsReady() {
		cancel()
		_ = workflow.Await(ctx, future.IsReady)
	}
	return future.Get(ctx, out)
}

// failed judges the error of a step and returns the stage that it leads to.
func (r *taskRun) failed(ctx workflow.Context, err error) stage {
	workflow.GetLogger(ctx).Debug("step failed", "error", err)
	details := detailsOf(err)
	return stageAfter(r.decide(fact{
		Fact:   task.Fact{Kind: task.FactStepFailed, Class: classOf(err)},
		reason: sentence(err), endReason: details.EndReason, errorID: details.ErrorID, resetAt: details.ResetAt,
	}))
}

// interrupted reports whether a pending user fact would change the current stage.
func (r *taskRun) interrupted() bool {
	return r.inbox.has(func(f fact) bool {
		if !f.user() {
			return false
		}
		_, eff := task.Decide(r.judge, f.Fact)
		return stageAfter(eff) != stay
	})
}

// pause waits for d or until a user's fact ends the wait.
func (r *taskRun) pause(ctx workflow.Context, d time.Duration) {
	if d > 0 {
		_, _ = workflow.AwaitWithTimeout(ctx, d, r.interrupted)
	}
}

// applyUserFacts judges the pending user facts in order until one changes the stage.
func (r *taskRun) applyUserFacts(ctx workflow.Context) (stage, error) {
	return r.applyFacts(ctx, fact.user)
}

// applyFacts judges the pending facts that match which, in order, until one changes the stage. It returns stay if none does.
func (r *taskRun) applyFacts(ctx workflow.Context, which func(fact) bool) (stage, error) {
	for {
		f, ok := r.inbox.take(which)
		if !ok {
			return stay, nil
		}
		eff := r.decide(f)
		if next := stageAfter(eff); next != stay {
			return next, nil
		}
		if err := r.saveDecision(ctx, eff); err != nil {
			return stay, err
		}
	}
}

// saveDecision writes the changes of a fact that left the stage as it is.
func (r *taskRun) saveDecision(ctx workflow.Context, eff task.Effects) error {
	switch {
	case len(r.settle) > 0:
		_, err := r.saveState(ctx, nil)
		return err
	case eff.Action == task.ActionStay:
		return r.saveProgress(ctx)
	}
	return nil
}

// decide judges one fact and notes its outcome.
func (r *taskRun) decide(f fact) task.Effects {
	f = r.withRoundText(f)
	state, eff := task.Decide(r.judge, f.Fact)
	r.judge = state
	if f.command != "" {
		r.settleCommand(f.command, eff)
	}
	if stageAfter(eff) != stay {
		r.last, r.effects = f, eff
	}
	return eff
}
