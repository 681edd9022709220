package workflows

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// handIn brings work that is to be validated to its branch, and ends the attempt that did it: a
// validator looks at the branch in a sandbox of its own.
func (r *taskRun) handIn(ctx workflow.Context) (task.Effects, error) {
	r.view.enter(ctx, "handing the work in")
	if r.attempt != nil {
		if eff, over, err := r.collect(ctx); over || err != nil {
			return r.leave(ctx, eff, err)
		}
	}
	if eff, over, err := r.promote(ctx); over || err != nil {
		return eff, err
	}
	eff := r.decide(fact{Fact: task.Fact{Kind: task.FactHandedIn}, reason: "the work is on its branch and goes to a validator"})
	return r.leave(ctx, eff, nil)
}

// between leaves what a person decided between two attempts for the next one to follow.
func (r *taskRun) between(ctx workflow.Context, eff task.Effects, over bool, err error) (task.Effects, bool, error) {
	if err == nil && over && r.judge.Rounds > 0 {
		eff, err = r.leave(ctx, eff, nil)
	}
	return eff, over, err
}

// assigned is the status of a task whose agent is started.
func (r *taskRun) assigned() task.Status {
	if r.attempt.Validates {
		return task.StatusValidating
	}
	return task.StatusAssigned
}

// outcome is how an attempt ended: a validator that says no has done its work.
func (r *taskRun) outcome(otherwise string) string {
	if r.attempt != nil && r.attempt.Validates && r.last.Kind == task.FactVerdict && !r.last.OK {
		return "rejected"
	}
	return otherwise
}

// completion is what it means that an agent has completed. That of a validator is a verdict only
// if it says one; and whoever did the work does not judge it where a validator is asked for.
func (r *taskRun) completion(ctx workflow.Context, m contract.Milestone, f fact) fact {
	f.Kind = task.FactCompleted
	switch {
	case m.Verdict && r.judge.Rounds == 0, m.Verdict && r.attempt.Validates && (m.OK || m.ErrorID != ""):
		f.Kind = task.FactVerdict
	case r.attempt.Validates:
		r.validatorDone(ctx)
	case m.Verdict:
		f.OK = true
	}
	return f
}

// validatorDone notes that no verdict will come but one that is on its way.
func (r *taskRun) validatorDone(ctx workflow.Context) {
	if r.attempt.Validates && r.watch.Finished.IsZero() {
		r.watch.Finished = workflow.Now(ctx)
	}
}

const (
	// askVerdict asks for a verdict that is accepted and has not come yet.
	askVerdict = "verdict"
	// verdictWait is how long a verdict may be on its way behind the validator's end.
	verdictWait = 10 * time.Second
)

// verdictDue reports whether a verdict is accepted that the task has not been told of, and has it waited for once more. No answer is
// no reason to end the attempt.
func (r *taskRun) verdictDue(ctx workflow.Context) bool {
	if workflow.GetVersion(ctx, "ask-for-verdict", workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return false
	}
	var d contract.Digest
	in := contract.LoadEventsInput{SandboxID: r.attempt.SandboxID, After: r.watch.Seen}
	err := r.step(ctx, call{name: contract.LoadEvents, summary: "look for a verdict"}, in, &d)
	if err != nil || d.VerdictDue {
		r.watch.Finished = workflow.Now(ctx)
		return true
	}
	return r.inbox.waiting(false)
}

// unspoken ends the attempt of a validator that ended without a verdict.
func (r *taskRun) unspoken() task.Effects {
	return r.decide(fact{
		Fact:   task.Fact{Kind: task.FactObserved, SandboxID: r.attempt.SandboxID, Class: task.ClassInfrastructure},
		reason: "the validator ended without a verdict", endReason: task.Reason{Code: task.ReasonNoVerdict},
	})
}

// stopped reports whether a validator says that it was interrupted, and not that it came to a limit of its own. Runs that ended at
// such a word replay so.
func (r *taskRun) stopped(ctx workflow.Context, m contract.Milestone) bool {
	return r.attempt.Validates && m.Class == task.ClassStopped && m.StopReason == stopInterrupted &&
		workflow.GetVersion(ctx, "interrupted-validator", workflow.DefaultVersion, 1) != workflow.DefaultVersion
}

// reviews reports whether a user judges the work if the validator reaches its own limit. Runs whose task failed there replay so.
func (r *taskRun) reviews(ctx workflow.Context) bool {
	return r.attempt.Validates && workflow.GetVersion(ctx, "review-after-limit", workflow.DefaultVersion, 1) != workflow.DefaultVersion
}

// reviewsError reports whether a user judges the work if the validator ended with a permanent error. Runs whose task failed there replay so.
func (r *taskRun) reviewsError(ctx workflow.Context, class task.FailureClass) bool {
	return r.attempt.Validates && !class.Retryable() &&
		workflow.GetVersion(ctx, "review-after-error", workflow.DefaultVersion, 1) != workflow.DefaultVersion
}

// stopInterrupted is the stop reason of an agent that was interrupted and that nobody spoke to again.
const stopInterrupted = "interrupted"

// worded says of a verdict which round it ends, in the words of [task.Review], and of an interrupted validator what follows.
func (r *taskRun) worded(f fact) fact {
	if f.Kind == task.FactObserved && f.Class == task.ClassStopped && r.judge.Handed {
		f.reason += " Another validator looks at the work."
	}
	if f.Kind != task.FactVerdict {
		return f
	}
	rounds := cmp.Or(r.judge.Rounds, task.MaxRevisions+1) // without a validator, as many verdicts as revisions, and the last
	review := task.Review{Round: r.judge.Round + 1, SandboxID: cmp.Or(f.SandboxID, f.from), Passed: f.OK}
	f.reason = review.Words(rounds)
	if f.errorID == "" {
		f.errorID = f.feedbackID
	}
	f.quotes = f.errorID != ""
	return f
}
