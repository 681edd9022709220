package temporal

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/omoi-dev/omoi/internal/contract"
)

// Run is what Temporal knows of the newest run of a workflow.
type Run struct {
	RunID         string
	Open          bool // also if it was continued as new
	Completed     bool
	HistoryLength int64 // events
}

// Describe returns the newest run of a workflow; [task.CodeNotFound] if Temporal knows none.
func (c *Client) Describe(ctx context.Context, workflowID string) (Run, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	answer, err := c.sdk.DescribeWorkflowExecution(ctx, workflowID, "")
	if err != nil {
		return Run{}, coded("describe workflow "+workflowID, err)
	}
	info := answer.GetWorkflowExecutionInfo()
	return Run{
		RunID: info.GetExecution().GetRunId(), HistoryLength: info.GetHistoryLength(),
		Open:      info.GetCloseTime() == nil || info.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW,
		Completed: info.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_COMPLETED,
	}, nil
}

// CurrentRun returns the newest run of a task's workflow and whether it is open.
func (c *Client) CurrentRun(ctx context.Context, taskID string) (runID string, open bool, err error) {
	run, err := c.Describe(ctx, contract.TaskWorkflowID(taskID))
	return run.RunID, run.Open, err
}

// StartCleanup starts the cleanup of a sandbox; one that runs is success. One that ran well begins anew, since what was verified
// gone may have appeared after all; where the ledger says that nothing is left to do it ends at once.
func (c *Client) StartCleanup(ctx context.Context, in contract.CleanupInput) error {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	_, err := c.sdk.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: contract.CleanupWorkflowID(in.SandboxID), TaskQueue: contract.QueueTasks,
		StaticSummary:                            fmt.Sprintf("sandbox %s: %s", in.SandboxID, in.Reason),
		WorkflowIDReusePolicy:                    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
	}, contract.CleanupWorkflow, in)
	if _, started := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); started {
		return nil
	}
	return coded("start the cleanup of sandbox "+in.SandboxID, err)
}
