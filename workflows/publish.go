package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// publish brings an accepted outcome to the world: the agent's commits to the branch, then
// the pull request. A cancel takes effect between the two, never after the second.
func (r *taskRun) publish(ctx workflow.Context) (task.Effects, error) {
	r.view.enter(ctx, "publishing")
	if r.attempt != nil {
		if eff, over, err := r.collect(ctx); over || err != nil {
			return r.leave(ctx, eff, err)
		}
	}
	if eff, over, err := r.people(ctx); over || err != nil {
		return eff, err
	}
	if eff, over, err := r.promote(ctx); over || err != nil {
		return eff, err
	}
	if r.loaded.HasRepo {
		err := r.step(ctx, call{name: contract.OpenPullRequest}, contract.PullInput{TaskID: r.id}, &r.pull)
		if err != nil {
			return r.unopened(ctx, err)
		}
	}
	return r.decide(fact{Fact: task.Fact{Kind: task.FactPublished}}), nil
}

// collect stops the agent and brings its commits out of the sandbox. A sandbox that died
// with the work in it is a failed attempt after all.
func (r *taskRun) collect(ctx workflow.Context) (eff task.Effects, over bool, err error) {
	if serr := r.step(ctx, r.sandboxCall(contract.StopAgent), r.ref(), nil); serr != nil {
		workflow.GetLogger(ctx).Info("agent not stopped", "error", serr)
	}
	if eff, over, err = r.people(ctx); over || err != nil || !r.loaded.HasRepo || r.attempt.Validates {
		return eff, over, err
	}
	cerr := r.bringOut(ctx)
	if eff, over, err = r.people(ctx); over || err != nil || cerr == nil {
		return eff, over, err
	}
	if class := classOf(cerr); class.Retryable() && class != task.ClassProviderLimit {
		r.judge.Publishing, r.judge.Handing = false, false
		return r.fail(ctx, cerr), true, nil
	}
	eff, err = r.publishFailed(ctx, cerr, task.ClassPublish)
	return eff, true, err
}

// bringOut brings the commits out. A git host, or a provider of sandboxes, that takes no requests for a while is waited for, up
// to the longest duration of the attempt: sandbox and slot are kept, since the work is in there.
func (r *taskRun) bringOut(ctx workflow.Context) error {
	in := r.ref()
	in.Claimed = r.last.Kind == task.FactContinuousCompleted
	for {
		var got contract.Collected
		err := r.step(ctx, r.sandboxCall(contract.CollectWork), in, &got)
		until := detailsOf(err).ResetAt
		if until.IsZero() || r.interrupted() || until.After(r.watch.Assigned.Add(r.loaded.Settings.AttemptTimeout)) {
			return err
		}
		r.view.enter(ctx, "waiting to bring the work out: requests are taken again at "+until.UTC().Format(time.RFC3339))
		r.pause(ctx, until.Sub(workflow.Now(ctx)))
		if r.interrupted() {
			return err
		}
		r.view.enter(ctx, "publishing")
	}
}

// promote brings work to its branch that an earlier run could not bring there, to be published or to be judged.
func (r *taskRun) promote(ctx workflow.Context) (eff task.Effects, over bool, err error) {
	if !r.loaded.Saved {
		return eff, false, nil
	}
	r.judge.Handing = !r.judge.Publishing // not told by the store, and taken back where the task was parked
	cause := r.step(ctx, call{name: contract.PublishBranch}, contract.BranchInput{TaskID: r.id}, nil)
	if eff, over, err = r.people(ctx); over || err != nil {
		eff, err = r.leave(ctx, eff, err)
		return eff, true, err
	}
	if cause != nil {
		eff, err = r.unopened(ctx, cause)
		return eff, true, err
	}
	r.loaded.Saved = false
	return eff, false, nil
}

// unopened judges a pull request that could not be opened, or saved work that did not get to its branch. What does not fit there
// any more is done again by an attempt; a git host that takes no requests for a while is waited for without a slot.
func (r *taskRun) unopened(ctx workflow.Context, cause error) (task.Effects, error) {
	if !detailsOf(cause).Redo {
		return r.publishFailed(ctx, cause, classOf(cause))
	}
	r.judge.Publishing, r.judge.Handing, r.loaded.PublishOnly, r.loaded.Saved, r.unbranched = false, false, false, false, true
	r.next = nextAttempt{kind: kindRetry, feedbackID: errorID(cause)}
	return task.Effects{Action: task.ActionBegin}, nil
}

// publishFailed ends the task with its branch and work kept; a retry starts at publish. A
// person who cancelled meanwhile is heard first.
func (r *taskRun) publishFailed(ctx workflow.Context, cause error, class task.FailureClass) (task.Effects, error) {
	if eff, over, err := r.people(ctx); over || err != nil {
		return eff, err
	}
	if class != task.ClassProviderLimit {
		class = task.ClassPublish
	}
	if classOf(cause) == task.ClassCredentials {
		class = task.ClassCredentials
	}
	return r.decide(fact{
		Fact:   task.Fact{Kind: task.FactPublishFailed, Class: class},
		reason: sentence(cause), endReason: detailsOf(cause).EndReason, errorID: errorID(cause), resetAt: detailsOf(cause).ResetAt,
	}), nil
}
