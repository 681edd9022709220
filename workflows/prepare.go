package workflows

import (
	"cmp"

	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// waitForSlot waits until the admission controller assigns a slot to the task.
func (r *taskRun) waitForSlot(ctx workflow.Context) (stage, error) {
	for !r.loaded.HoldsSlot {
		if err := workflow.Await(ctx, func() bool { return r.inbox.admitted || r.inbox.has(fact.user) }); err != nil {
			return stay, err
		}
		if next, err := r.applyUserFacts(ctx); next != stay || err != nil {
			return next, err
		}
		if r.inbox.admitted {
			if err := r.claimSlot(ctx); err != nil {
				return stay, err
			}
		}
	}
	if r.loaded.PublishOnly {
		r.loaded.PublishOnly, r.judge.Stage = false, task.StagePublish
	}
	return r.nextStage(), nil
}

// claimSlot asks the store whether the task holds a slot, because the signal may be outdated.
func (r *taskRun) claimSlot(ctx workflow.Context) error {
	r.inbox.admitted = false
	answer, err := r.saveState(ctx, func(p *contract.Projection) { p.RequestSlot = true })
	r.loaded.HoldsSlot = answer.HoldsSlot
	return err
}

// ensureBranch finds or creates the task's branch, once in each workflow run, because a user may have deleted the branch, and
// after each rewind, which may need another branch. A Git host that is down costs retries of the task. The task never continues without its branch.
func (r *taskRun) ensureBranch(ctx workflow.Context) (stage, error) {
	if r.loaded.Live != nil {
		return r.resumeAttempt(ctx)
	}
	if !r.loaded.HasRepo {
		r.branched = true
		next, err := r.applyUserFacts(ctx)
		return cmp.Or(next, r.nextStage()), err
	}
	var branch contract.BranchResult
	in := contract.EnsureBranchInput{TaskID: r.id, Checkpoint: r.next.checkpoint}
	if next, err := r.do(ctx, call{name: contract.EnsureBranch}, in, &branch); next != stay || err != nil {
		return next, err
	}
	r.branched, r.loaded.Branch, r.loaded.Base = true, branch.Branch, branch.Base
	return r.nextStage(), nil
}

// resumeAttempt continues the attempt that was live when the task was loaded, and reads the events that this run missed.
func (r *taskRun) resumeAttempt(ctx workflow.Context) (stage, error) {
	if next, err := r.applyUserFacts(ctx); next != stay || err != nil {
		return next, err
	}
	live := *r.loaded.Live
	r.loaded.Live, r.branched = nil, true
	r.adopt(ctx, live)
	r.relayEvents(ctx)
	if live.LastSequence > 0 {
		r.loadEvents(ctx)
	}
	if live.Assigned {
		return running, nil
	}
	return starting, nil
}

// suspend releases the slot and waits until a limit resets or a user acts. Then the task waits for a slot again.
func (r *taskRun) suspend(ctx workflow.Context) (stage, error) {
	until := r.last.resetAt
	if err := r.endAttempt(ctx, "suspended", func(p *contract.Projection) { p.ReleaseSlot = true }); err != nil {
		return stay, err
	}
	r.view.enter(ctx, string(r.judge.Blocked))
	if r.judge.Blocked == task.BlockedProviderLimit {
		if until.IsZero() {
			until = workflow.Now(ctx).Add(r.loaded.Settings.LimitWait)
		}
		r.pause(ctx, until.Sub(workflow.Now(ctx)))
	} else if err := workflow.Await(ctx, r.interrupted); err != nil {
		return stay, err
	}
	next, err := r.applyUserFacts(ctx)
	if err != nil || next == publishing || next == suspended || next == done {
		return next, err
	}
	if next == retrying && r.effects.Status == task.StatusNeedsRevision {
		if err := r.planRetry(ctx); err != nil {
			return stay, err
		}
	}
	if next == retrying && r.last.Kind == task.FactRewind {
		r.planRewind(ctx)
		r.loaded.Saved = false
	}
	r.judge.Blocked, r.loaded.HoldsSlot = task.BlockedNone, false
	return queued, r.claimSlot(ctx)
}
