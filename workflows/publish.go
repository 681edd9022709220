package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// publish pushes accepted work to the branch and opens the pull request. A cancel takes effect until the pull request is open.
func (r *taskRun) publish(ctx workflow.Context) (stage, error) {
	if next, err := r.pushWork(ctx); next != stay || err != nil {
		return next, err
	}
	if r.loaded.HasRepo {
		err := r.step(ctx, call{name: contract.OpenPullRequest}, contract.PullInput{TaskID: r.id}, &r.pull)
		if err != nil {
			return r.handlePublishFailure(ctx, err)
		}
	}
	return stageAfter(r.decide(fact{Fact: task.Fact{Kind: task.FactPublished}})), nil
}

// submit pushes work to the branch for validation. The validator reviews the work in another sandbox.
func (r *taskRun) submit(ctx workflow.Context) (stage, error) {
	if next, err := r.pushWork(ctx); next != stay || err != nil {
		return next, err
	}
	return stageAfter(r.decide(fact{
		Fact: task.Fact{Kind: task.FactHandedIn}, reason: "the work is on its branch and goes to a validator",
	})), nil
}

// pushWork pushes the work of the live attempt, or the saved work of an earlier one, to the branch.
func (r *taskRun) pushWork(ctx workflow.Context) (stage, error) {
	if r.attempt != nil {
		if next, err := r.collect(ctx); next != stay || err != nil {
			return next, err
		}
	}
	if next, err := r.applyUserFacts(ctx); next != stay || err != nil {
		return next, err
	}
	return r.publishSaved(ctx)
}

// collect stops the agent and pushes its commits. If the sandbox died before the push, the attempt fails.
func (r *taskRun) collect(ctx workflow.Context) (stage, error) {
	if !r.loaded.HasRepo || r.attempt.Validates {
		if err := r.step(ctx, r.sandboxCall(contract.StopAgent), r.ref(), nil); err != nil {
			workflow.GetLogger(ctx).Debug("stop agent failed", "error", err)
		}
		return stay, nil
	}
	got, failure := r.collectWork(ctx)
	if failure == nil {
		failure = r.repeatTests(ctx, got)
	}
	if next, err := r.applyUserFacts(ctx); next != stay || err != nil || failure == nil {
		return next, err
	}
	if class := classOf(failure); class.Retryable() && class != task.ClassProviderLimit {
		r.judge.Stage = task.StageWork
		return r.failed(ctx, failure), nil
	}
	return r.publishFailed(ctx, failure, task.ClassPublish)
}

// collectWork pushes the work. While a rate limit of the Git host or of the sandbox provider lasts, it waits, up to the attempt's
// maximum duration, and keeps the sandbox and the slot because the work is in the sandbox.
func (r *taskRun) collectWork(ctx workflow.Context) (got contract.Collected, err error) {
	in := r.ref()
	in.Claimed, in.Completed = r.last.Kind == task.FactContinuousCompleted, r.last.Kind == task.FactCompleted
	for {
		err = r.step(ctx, r.sandboxCall(contract.CollectWork), in, &got)
		until := detailsOf(err).ResetAt
		if until.IsZero() || r.interrupted() || until.After(r.watch.Assigned.Add(r.loaded.Settings.AttemptTimeout)) {
			return got, err
		}
		r.view.enter(ctx, "waiting for a rate limit until "+until.UTC().Format(time.RFC3339))
		r.pause(ctx, until.Sub(workflow.Now(ctx)))
		if r.interrupted() {
			return got, err
		}
		r.view.enter(ctx, "")
	}
}

// repeatPickup is how long a repeat waits for a worker that can reach the sandbox.
const repeatPickup = 5 * time.Minute

// repeatTests repeats the test command on the pushed work, within the maximum duration of the attempt and until a budget is spent. Only
// work that passes with changed tests alone, against its contract, fails: a repeat that has no result blocks nothing.
func (r *taskRun) repeatTests(ctx workflow.Context, got contract.Collected) error {
	if !got.RepeatTests || workflow.GetVersion(ctx, "repeat-tests", workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return nil
	}
	left := timeLeft(ctx, r.watch.Assigned.Add(r.loaded.Settings.AttemptTimeout+r.watch.Frozen))
	if left == 0 {
		return nil
	}
	r.view.enter(ctx, "repeating the tests")
	defer r.view.enter(ctx, "")
	c := r.sandboxCall(contract.RepeatTests)
	c.pickup, c.within = repeatPickup, min(left, contract.PolicyOf(contract.RepeatTests).ScheduleToClose)
	spent := func(f fact) bool { return f.Kind == task.FactBudget }
	err := r.stepUntil(ctx, func() bool { return r.interrupted() || r.inbox.has(spent) }, c, contract.RepeatTestsInput{SandboxRef: r.ref(), Commit: got.Head}, nil)
	if detailsOf(err).EndReason.Code == task.ReasonTestsChanged {
		return err
	}
	return nil
}

// publishSaved pushes work that an earlier run saved and could not push, before it is published or validated.
func (r *taskRun) publishSaved(ctx workflow.Context) (stage, error) {
	if !r.loaded.Saved {
		return stay, nil
	}
	if r.judge.Stage != task.StagePublish {
		r.judge.Stage = task.StageSubmit // the stage is not stored, and a suspension resets it
	}
	failure := r.step(ctx, call{name: contract.PublishBranch}, contract.BranchInput{TaskID: r.id}, nil)
	if next, err := r.applyUserFacts(ctx); next != stay || err != nil {
		return next, err
	}
	if failure != nil {
		return r.handlePublishFailure(ctx, failure)
	}
	r.loaded.Saved = false
	return stay, nil
}

// handlePublishFailure judges a failure to open the pull request or to push saved work. If the saved work no longer applies to
// the branch, the next attempt repeats it.
func (r *taskRun) handlePublishFailure(ctx workflow.Context, cause error) (stage, error) {
	if !detailsOf(cause).Redo {
		return r.publishFailed(ctx, cause, classOf(cause))
	}
	r.judge.Stage, r.loaded.Saved, r.branched = task.StageWork, false, false
	r.next = nextAttempt{kind: kindRetry, feedbackID: detailsOf(cause).ErrorID}
	return r.nextStage(), nil
}

// publishFailed ends the task and keeps its branch and work; a retry starts at publish. A rate limit of the Git host suspends
// the task instead. A pending cancel takes precedence.
func (r *taskRun) publishFailed(ctx workflow.Context, cause error, class task.FailureClass) (stage, error) {
	if next, err := r.applyUserFacts(ctx); next != stay || err != nil {
		return next, err
	}
	if class != task.ClassProviderLimit {
		class = task.ClassPublish
	}
	if classOf(cause) == task.ClassCredentials {
		class = task.ClassCredentials
	}
	details := detailsOf(cause)
	return stageAfter(r.decide(fact{
		Fact:   task.Fact{Kind: task.FactPublishFailed, Class: class},
		reason: sentence(cause), endReason: details.EndReason, errorID: details.ErrorID, resetAt: details.ResetAt,
	})), nil
}
