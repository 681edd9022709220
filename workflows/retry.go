package workflows

import (
	"slices"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// endForRetry ends the attempt, waits until its sandbox is deleted, and pauses before the next attempt.
func (r *taskRun) endForRetry(ctx workflow.Context) (stage, error) {
	if r.attempt != nil || r.effects.Status == task.StatusNeedsRevision {
		if err := r.planRetry(ctx); err != nil {
			return stay, err
		}
	}
	r.pause(ctx, task.RetryDelay(r.effects.Class, r.judge.Retries, r.loaded.Settings.RetryBase))
	return r.nextStage(), nil
}

// planRetry sets the kind and the feedback of the next attempt, and ends the current one.
func (r *taskRun) planRetry(ctx workflow.Context) error {
	r.next = nextAttempt{kind: kindRetry, feedbackID: r.last.feedbackID}
	outcome := "failed"
	switch {
	case r.effects.Status == task.StatusNeedsRevision:
		r.next.kind, outcome = kindRevision, r.outcome("revised")
	case r.last.Kind == task.FactHandedIn:
		outcome = "completed"
	case r.last.Kind == task.FactReplace:
		r.next.kind, outcome = kindReplacement, "replaced"
	case r.last.Kind == task.FactRewind:
		r.planRewind(ctx)
		outcome = "replaced"
	}
	if r.next.feedbackID == "" {
		r.next.feedbackID = r.last.errorID
	}
	ended := r.attempt
	if err := r.endAttempt(ctx, outcome, nil); err != nil || ended == nil {
		return err
	}
	r.view.enter(ctx, "waiting for the cleanup of sandbox "+ended.SandboxID)
	return r.awaitCleanup(ctx, ended.SandboxID)
}

// planRewind sets the checkpoint of the next attempt, whose branch is found again.
func (r *taskRun) planRewind(ctx workflow.Context) {
	r.next = nextAttempt{kind: kindRewound, checkpoint: r.last.checkpoint}
	if workflow.GetVersion(ctx, "rewind-branch", workflow.DefaultVersion, 1) != workflow.DefaultVersion {
		r.branched = false
	}
}

// endAttempt records the end of the live attempt, if there is one, and starts the cleanup of its sandbox.
func (r *taskRun) endAttempt(ctx workflow.Context, outcome string, edit func(*contract.Projection)) error {
	ended := r.attempt
	r.attempt, r.judge.SandboxID = nil, ""
	_, err := r.saveState(ctx, func(p *contract.Projection) {
		p.Class, p.Reason, p.ErrorID, p.Quotes = r.effects.Class, r.last.sentence(), r.last.errorID, r.last.quotes
		p.EndReason = r.last.endReason
		if edit != nil {
			edit(p)
		}
		if ended != nil {
			p.Ended = r.attemptEnd(*ended, outcome, *p)
		}
	})
	if err != nil || ended == nil {
		return err
	}
	return r.startCleanup(ctx, *ended, outcome)
}

// attemptEnd returns how an attempt ended. If its work is done and could not be published, the class is publish, whatever the
// class of the task: a retry then starts at publish.
func (r *taskRun) attemptEnd(ended contract.LiveAttempt, outcome string, p contract.Projection) *contract.AttemptEnd {
	class := p.Class
	if r.last.Kind == task.FactPublishFailed {
		class = task.ClassPublish
	}
	return &contract.AttemptEnd{
		Number: ended.Number, Outcome: outcome, Class: class, Reason: p.Reason, EndReason: p.EndReason, Idle: r.last.idle,
	}
}

// outcome returns "rejected" for a validator that rejected the work, otherwise the given outcome.
func (r *taskRun) outcome(otherwise string) string {
	if r.attempt != nil && r.attempt.Validates && r.last.Kind == task.FactVerdict && !r.last.OK {
		return "rejected"
	}
	return otherwise
}

// startCleanup starts the cleanup workflow of a sandbox, which outlives this workflow. The reaper, or the run before a reset,
// may have started it already.
func (r *taskRun) startCleanup(ctx workflow.Context, a contract.LiveAttempt, reason string) error {
	child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            contract.CleanupWorkflowID(a.SandboxID),
		TaskQueue:             contract.QueueTasks,
		ParentClosePolicy:     enums.PARENT_CLOSE_POLICY_ABANDON,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
		StaticSummary:         reason,
	}), contract.CleanupWorkflow, contract.CleanupInput{
		SandboxID: a.SandboxID, TaskID: r.id, Attempt: a.Number, Reason: reason, Notify: contract.TaskWorkflowID(r.id),
	})
	r.cleanup = child
	err := child.GetChildWorkflowExecution().Get(ctx, nil)
	if temporal.IsWorkflowExecutionAlreadyStartedError(err) {
		return nil
	}
	return err
}

// awaitCleanup waits until the work is saved and the sandbox is deleted: for the end of the cleanup, or for the signal of its
// first absence check. After the timeout the store still delays the next attempt until the sandbox is deleted.
func (r *taskRun) awaitCleanup(ctx workflow.Context, sandboxID string) error {
	_, err := workflow.AwaitWithTimeout(ctx, r.loaded.Settings.CleanupWait, func() bool {
		return r.cleanup.IsReady() || slices.Contains(r.inbox.deleted, sandboxID)
	})
	return err
}
