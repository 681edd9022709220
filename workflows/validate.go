package workflows

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// completion is what it means that an agent has completed. That of a validator is a verdict only
// if it says one. Where a validator is asked for, the agent that did the work does not judge it.
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

// verdictDue reports whether the store holds a verdict that has not arrived here, or does not answer. The attempt then waits again.
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

// withRoundText says of a verdict which round it ends, by [task.Validation], and of an interrupted validator what follows.
func (r *taskRun) withRoundText(f fact) fact {
	if f.Kind == task.FactObserved && f.Class == task.ClassStopped && r.judge.Stage == task.StageValidate {
		f.reason += " Another validator looks at the work."
	}
	if f.Kind != task.FactVerdict {
		return f
	}
	rounds := cmp.Or(r.judge.Rounds, task.MaxRevisions+1) // without a validator, as many verdicts as revisions, and the last
	review := task.Validation{Round: r.judge.Round + 1, SandboxID: cmp.Or(f.SandboxID, f.from), Passed: f.OK}
	f.reason = review.Words(rounds)
	if f.errorID == "" {
		f.errorID = f.feedbackID
	}
	f.quotes = f.errorID != ""
	return f
}
