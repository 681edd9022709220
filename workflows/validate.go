package workflows

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// completion returns the fact for an agent that completed. The completion of a validator is a verdict only if it contains
// one. If the task has a validator, a verdict of the agent that did the work counts as its completion.
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

// validatorDone records that the validator has ended, so that only a verdict already sent can still arrive.
func (r *taskRun) validatorDone(ctx workflow.Context) {
	if r.attempt.Validates && r.watch.Finished.IsZero() {
		r.watch.Finished = workflow.Now(ctx)
	}
}

const (
	// askVerdict asks for a verdict that is accepted and has not arrived.
	askVerdict = "verdict"
	// verdictWait is how long a verdict may arrive after the validator's end.
	verdictWait = 10 * time.Second
)

// verdictDue reports whether the store holds a verdict that has not arrived here, or does not answer. In both cases the
// attempt waits again.
func (r *taskRun) verdictDue(ctx workflow.Context) bool {
	var d contract.Digest
	in := contract.LoadEventsInput{SandboxID: r.attempt.SandboxID, After: r.watch.Seen}
	err := r.step(ctx, call{name: contract.LoadEvents, summary: "look for a verdict"}, in, &d)
	if err != nil || d.VerdictDue {
		r.watch.Finished = workflow.Now(ctx)
		return true
	}
	return r.inbox.has(anyFact)
}

// endWithoutVerdict ends the attempt of a validator that ended without a verdict.
func (r *taskRun) endWithoutVerdict() stage {
	return stageAfter(r.decide(fact{
		Fact:   task.Fact{Kind: task.FactObserved, SandboxID: r.attempt.SandboxID, Class: task.ClassInfrastructure},
		reason: "the validator ended without a verdict", endReason: task.Reason{Code: task.ReasonNoVerdict},
	}))
}

// withRoundText adds the validation round to the reason of a verdict, and the next step to that of an interrupted validator.
func (r *taskRun) withRoundText(f fact) fact {
	if f.Kind == task.FactObserved && f.Class == task.ClassStopped && r.judge.Stage == task.StageValidate {
		f.reason += " Another validator reviews the work."
	}
	if f.Kind != task.FactVerdict {
		return f
	}
	rounds := cmp.Or(r.judge.Rounds, task.MaxRevisions+1) // without a validator: one verdict for each revision, and a final one
	review := task.Validation{Round: r.judge.Round + 1, SandboxID: cmp.Or(f.SandboxID, f.from), Passed: f.OK}
	f.reason = review.Words(rounds)
	if f.errorID == "" {
		f.errorID = f.feedbackID
	}
	f.quotes = f.errorID != ""
	return f
}
