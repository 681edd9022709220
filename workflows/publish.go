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
	if r.loaded.HasRepo {
		err := r.step(ctx, call{name: contract.OpenPull}, contract.PullInput{TaskID: r.id, Saved: r.loaded.PublishOnly}, &r.pull)
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

// bringOut brings the commits out. A git host that takes no requests for a while is waited for, up to the longest duration of
// the attempt: sandbox and slot are kept, since the work is in there.
func (r *taskRun) bringOut(ctx workflow.Context) error {
	for {
		var got contract.Collected
		err := r.step(ctx, r.sandboxCall(contract.CollectWork), r.ref(), &got)
		until := detailsOf(err).ResetAt
		if until.IsZero() || r.interrupted() || until.After(r.watch.Assigned.Add(r.loaded.Settings.AttemptTimeout)) {
			return err
		}
		r.view.enter(ctx, "waiting for the git host, which takes requests again at "+until.UTC().Format(time.RFC3339))
		r.pause(ctx, until.Sub(workflow.Now(ctx)))
		if r.interrupted() {
			return err
		}
		r.view.enter(ctx, "publishing")
	}
}

// unopened judges a pull request that could not be opened. Saved work that does not fit its branch any more is done again by
// an attempt; a git host that takes no requests for a while is waited for without a slot.
func (r *taskRun) unopened(ctx workflow.Context, cause error) (task.Effects, error) {
	if !detailsOf(cause).Redo {
		return r.publishFailed(ctx, cause, classOf(cause))
	}
	if eff, over, err := r.people(ctx); over || err != nil {
		return eff, err
	}
	r.judge.Publishing, r.loaded.PublishOnly, r.unbranched = false, false, true
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
		reason: sentence(cause), errorID: errorID(cause), resetAt: detailsOf(cause).ResetAt,
	}), nil
}
