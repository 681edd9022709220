package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// admit waits until the gate lets the task in.
func (r *taskRun) admit(ctx workflow.Context) (eff task.Effects, over bool, err error) {
	for !r.loaded.HoldsSlot {
		r.view.enter(ctx, "waiting for a slot")
		if err := workflow.Await(ctx, func() bool { return r.inbox.admitted || r.inbox.waiting(true) }); err != nil {
			return eff, false, err
		}
		if eff, over, err = r.people(ctx); over || err != nil {
			return eff, over, err
		}
		if r.inbox.admitted {
			err = r.claimSlot(ctx)
		}
		if err != nil {
			return eff, false, err
		}
	}
	return eff, false, nil
}

// claimSlot asks whether the slot is really held: a signal may be an old one.
func (r *taskRun) claimSlot(ctx workflow.Context) error {
	r.inbox.admitted = false
	answer, err := r.projectAnswer(ctx, func(p *contract.Projection) { p.RequestSlot = true })
	r.loaded.HoldsSlot = answer.HoldsSlot
	return err
}

// branch finds or makes the task's branch, once a run: a person may have removed it since. A git host that is down costs retries, as an
// attempt would, and never lets the task go on without its branch.
func (r *taskRun) branch(ctx workflow.Context) (eff task.Effects, over bool, err error) {
	for {
		eff, over, err = r.tryBranch(ctx)
		if err != nil || eff.Action != task.ActionBegin {
			r.unbranched = eff.Action == task.ActionPark
			return eff, over, err
		}
		r.pause(ctx, r.backoff(eff.Class))
	}
}

// goOn makes sure of the branch where that is still to be done, and runs an attempt.
func (r *taskRun) goOn(ctx workflow.Context) (task.Effects, error) {
	if r.unbranched {
		if eff, over, err := r.branch(ctx); over || err != nil {
			return eff, err
		}
	}
	return r.runAttempt(ctx)
}

func (r *taskRun) tryBranch(ctx workflow.Context) (eff task.Effects, over bool, err error) {
	if !r.loaded.HasRepo || r.loaded.Live != nil {
		return r.people(ctx)
	}
	r.view.enter(ctx, "making the branch")
	var made contract.BranchResult
	err = r.step(ctx, call{name: contract.EnsureBranch}, contract.BranchInput{TaskID: r.id}, &made)
	eff, over, perr := r.people(ctx)
	switch {
	case over || perr != nil:
		return eff, over, perr
	case err != nil:
		return r.fail(ctx, err), true, nil
	}
	r.loaded.Branch, r.loaded.Base = made.Branch, made.Base
	return eff, false, nil
}

// fail judges the error of a step of ours.
func (r *taskRun) fail(ctx workflow.Context, err error) task.Effects {
	workflow.GetLogger(ctx).Info("step failed", "error", err)
	return r.decide(fact{
		Fact:   task.Fact{Kind: task.FactStepFailed, Class: classOf(err)},
		reason: sentence(err), endReason: detailsOf(err).EndReason, errorID: errorID(err), resetAt: detailsOf(err).ResetAt,
	})
}

// park gives the slot back and waits: for a limit to reset, or for a person.
func (r *taskRun) park(ctx workflow.Context, eff task.Effects) (task.Effects, error) {
	why, until := r.judge.Blocked, r.last.resetAt
	err := r.endAttempt(ctx, "suspended", func(p *contract.Projection) {
		p.ReleaseSlot, p.Class, p.Reason, p.ErrorID = true, eff.Class, r.last.sentence(), r.last.errorID
	})
	if err != nil {
		return eff, err
	}
	r.view.enter(ctx, "parked: "+string(why))
	if why == task.BlockedProviderLimit {
		if until.IsZero() {
			until = workflow.Now(ctx).Add(r.loaded.Settings.LimitSleep)
		}
		r.pause(ctx, until.Sub(workflow.Now(ctx)))
	} else if err := workflow.Await(ctx, r.interrupted); err != nil {
		return eff, err
	}
	asked, over, err := r.people(ctx)
	if err != nil || (over && asked.Action != task.ActionBegin && asked.Action != task.ActionValidate) {
		return asked, err
	}
	if asked.Status == task.StatusNeedsRevision {
		if asked, err = r.leave(ctx, asked, nil); err != nil {
			return asked, err
		}
	}
	r.judge.Blocked = task.BlockedNone
	r.loaded.HoldsSlot = false
	if err := r.claimSlot(ctx); err != nil {
		return eff, err
	}
	if eff, over, err := r.admit(ctx); over || err != nil {
		return eff, err
	}
	switch {
	case r.judge.Publishing:
		return task.Effects{Action: task.ActionPublish}, nil
	case r.judge.Handing, r.loaded.Saved:
		return task.Effects{Action: task.ActionValidate}, nil
	}
	return task.Effects{Action: task.ActionBegin}, nil
}

// backoff is the pause before the attempt that follows a failure.
func (r *taskRun) backoff(class task.FailureClass) time.Duration {
	return task.RetryDelay(class, r.judge.Retries, r.loaded.Settings.RetryBase)
}
