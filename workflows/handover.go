package workflows

import (
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// handOver gives a sandbox to its cleanup workflow, which outlives this one, and waits for it a while. Whatever may follow
// begins with what was saved, once nothing can act in the sandbox any more: it waits for no second look. The end of a
// completed task does, and for those of the attempts before.
func (r *taskRun) handOver(ctx workflow.Context, a contract.LiveAttempt, reason string) error {
	child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            contract.CleanupWorkflowID(a.SandboxID),
		TaskQueue:             contract.QueueTasks,
		ParentClosePolicy:     enums.PARENT_CLOSE_POLICY_ABANDON,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
		StaticSummary:         reason,
	}), contract.CleanupWorkflow, contract.CleanupInput{
		SandboxID: a.SandboxID, TaskID: r.id, Attempt: a.Number, Reason: reason, Tell: contract.TaskWorkflowID(r.id),
	})
	if err := child.GetChildWorkflowExecution().Get(ctx, nil); err != nil {
		if temporal.IsWorkflowExecutionAlreadyStartedError(err) {
			return nil // the reaper was quicker
		}
		return err
	}
	completed := r.judge.Status == task.StatusCompleted
	_, err := workflow.AwaitWithTimeout(ctx, r.loaded.Settings.CleanupWait, func() bool {
		if completed {
			return child.IsReady() && r.allVerified()
		}
		return child.IsReady() || r.inbox.gone[a.SandboxID]
	})
	if !child.IsReady() && r.inbox.gone[a.SandboxID] {
		r.unverified = append(r.unverified, child)
	}
	return err
}

// allVerified reports whether the sandboxes that were not waited for are seen to be gone for good.
func (r *taskRun) allVerified() bool {
	for _, cleanup := range r.unverified {
		if !cleanup.IsReady() {
			return false
		}
	}
	return true
}
