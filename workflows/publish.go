package workflows

import (
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
		err := r.step(ctx, call{name: contract.OpenPull}, contract.PullInput{TaskID: r.id}, &r.pull)
		if err != nil {
			return r.publishFailed(ctx, err)
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
	if eff, over, err = r.people(ctx); over || err != nil || !r.loaded.HasRepo {
		return eff, over, err
	}
	var got contract.Collected
	cerr := r.step(ctx, r.sandboxCall(contract.CollectWork), r.ref(), &got)
	if eff, over, err = r.people(ctx); over || err != nil || cerr == nil {
		return eff, over, err
	}
	if class := classOf(cerr); class.Retryable() {
		r.judge.Publishing = false
		return r.fail(ctx, cerr), true, nil
	}
	eff, err = r.publishFailed(ctx, cerr)
	return eff, true, err
}

// publishFailed ends the task with its branch and work kept; a retry starts at publish. A
// person who cancelled meanwhile is heard first.
func (r *taskRun) publishFailed(ctx workflow.Context, cause error) (task.Effects, error) {
	if eff, over, err := r.people(ctx); over || err != nil {
		return eff, err
	}
	f := fact{Fact: task.Fact{Kind: task.FactPublishFailed, Class: task.ClassPublish}, reason: sentence(cause), errorID: errorID(cause)}
	if class := classOf(cause); class == task.ClassCredentials {
		f.Class = class
	}
	return r.decide(f), nil
}
