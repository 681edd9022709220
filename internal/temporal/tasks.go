package temporal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// StartTask starts the workflow of a task. A repeated first start succeeds. A retry starts a new run after a run that
// did not complete: while that one is open it is [task.CodeConflict] and can be repeated; after a completed one it is
// [task.CodeGone], unless it is a rewind.
func (c *Client) StartTask(ctx context.Context, in contract.TaskInput, retry bool) error {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	in.SearchAttributes = c.attributes.Load()
	err := c.startTask(ctx, in, retry)
	if in.SearchAttributes && aboutAttributes(err) {
		c.log.WarnContext(ctx, "set search attributes failed, task started without them", slog.Any("error", err))
		in.SearchAttributes = false
		err = c.startTask(ctx, in, retry)
	}
	if _, started := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); started {
		if retry {
			return c.whyNoRetry(ctx, in)
		}
		return nil
	}
	return coded("start task "+in.TaskID, err)
}

func (c *Client) startTask(ctx context.Context, in contract.TaskInput, retry bool) error {
	options := client.StartWorkflowOptions{
		ID: contract.TaskWorkflowID(in.TaskID), TaskQueue: contract.QueueTasks, StaticSummary: in.Title,
		WorkflowIDReusePolicy:                    enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
	}
	if retry {
		options.WorkflowIDReusePolicy = enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY
	}
	if in.Checkpoint != "" {
		options.WorkflowIDReusePolicy = enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	}
	if in.SearchAttributes {
		options.TypedSearchAttributes = temporal.NewSearchAttributes(
			temporal.NewSearchAttributeKeyKeyword(contract.AttributeStatus).ValueSet(string(task.StatusPending)))
	}
	_, err := c.sdk.ExecuteWorkflow(ctx, options, contract.TaskWorkflow, in)
	return err
}

// aboutAttributes reports whether the server refused a start because of its search attributes. The server has no error
// type for that.
func aboutAttributes(err error) bool {
	var invalid *serviceerror.InvalidArgument
	return errors.As(err, &invalid) && strings.Contains(strings.ToLower(invalid.Message), "search attribute")
}

func (c *Client) whyNoRetry(ctx context.Context, in contract.TaskInput) error {
	run, err := c.Describe(ctx, contract.TaskWorkflowID(in.TaskID))
	switch {
	case err != nil:
		return fmt.Errorf("read the workflow of task %s: %w", in.TaskID, err)
	case run.Completed && in.Checkpoint == "":
		return task.Errorf(task.CodeGone, "The task has completed.")
	}
	return task.Errorf(task.CodeConflict, "The previous run has not ended.")
}

// SignalDigest sends a digest of sandbox events to a task.
func (c *Client) SignalDigest(ctx context.Context, taskID string, d contract.Digest) error {
	return c.signal(ctx, taskID, contract.SignalSandboxEvents, d)
}

// SignalCommand sends a command to a task.
func (c *Client) SignalCommand(ctx context.Context, taskID string, command contract.Command) error {
	return c.signal(ctx, taskID, contract.SignalCommand, command)
}

// SignalAdmitted tells a task that it holds a slot.
func (c *Client) SignalAdmitted(ctx context.Context, taskID string) error {
	return c.signal(ctx, taskID, contract.SignalAdmitted, nil)
}

// SignalCheck asks a task to check a sandbox that seems to have ended.
func (c *Client) SignalCheck(ctx context.Context, taskID string, in contract.CheckSignal) error {
	return c.signal(ctx, taskID, contract.SignalCheck, in)
}

func (c *Client) signal(ctx context.Context, taskID, name string, payload any) error {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	id := contract.TaskWorkflowID(taskID)
	err := coded(fmt.Sprintf("signal %s to task %s", name, taskID), c.sdk.SignalWorkflow(ctx, id, "", name, payload))
	if task.CodeOf(err) != task.CodeNotFound {
		return err
	}
	// The server also says "not found" for a workflow that has ended.
	run, unknown := c.Describe(ctx, id)
	switch {
	case unknown != nil:
		return unknown
	case run.Open: // it started between the two calls
		return task.Errorf(task.CodeUnavailable, "The task's workflow has just started. Next: repeat in a moment").WithCause(err)
	}
	return task.Errorf(task.CodeGone, "The task's workflow has ended.").WithCause(err)
}

// Run describes the newest run of a workflow.
type Run struct {
	RunID         string
	Open          bool // also if it was continued as new
	Completed     bool
	HistoryLength int64 // number of history events
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

// StartCleanup starts the cleanup of a sandbox. It succeeds if the workflow is open. After a completed one it starts a
// new run, since a deleted sandbox may have reappeared; if the ledger has nothing left to do, that run ends at once.
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
