package workflows

import (
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
)

// handOver gives a sandbox to its cleanup workflow, which outlives this one, and waits for it
// a while: the next attempt begins with what it saved.
func (r *taskRun) handOver(ctx workflow.Context, a contract.LiveAttempt, reason string) error {
	child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            contract.CleanupWorkflowID(a.SandboxID),
		TaskQueue:             contract.QueueTasks,
		ParentClosePolicy:     enums.PARENT_CLOSE_POLICY_ABANDON,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
		StaticSummary:         reason,
	}), contract.CleanupWorkflow, contract.CleanupInput{
		SandboxID: a.SandboxID, TaskID: r.id, Attempt: a.Number, Reason: reason,
	})
	if err := child.GetChildWorkflowExecution().Get(ctx, nil); err != nil {
		if temporal.IsWorkflowExecutionAlreadyStartedError(err) {
			return nil // the reaper was quicker
		}
		return err
	}
	_, err := workflow.AwaitWithTimeout(ctx, r.loaded.Settings.CleanupWait, child.IsReady)
	return err
}
