package workflows

import (
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// PullRelayWorkflow carries what a sandbox says and hears, in turns, until the sandbox is
// gone, its agent has ended and said all, or the cleanup cancels it.
func PullRelayWorkflow(ctx workflow.Context, in contract.TailInput) (contract.TailResult, error) {
	result := contract.TailResult{SandboxID: in.SandboxID}
	for range contract.TailTurns {
		var turn contract.Tailed
		err := call{name: contract.RelaySandbox, queue: contract.QueueTails(in.Queue)}.get(ctx, in.SandboxRef, &turn)
		switch {
		case ctx.Err() != nil:
			result.Over = "cancelled"
			return result, nil //nolint:nilerr // which is how the cleanup ends it
		case err != nil:
			return result, err
		case turn.Over != "":
			result.Over = turn.Over
			return result, nil
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			break
		}
	}
	return result, workflow.NewContinueAsNewError(ctx, contract.PullRelayWorkflow, in)
}

// relayEvents starts the pull relay of an attempt whose agent cannot reach the API. One that runs is left alone. If it does not
// start, the agent is silent, and a check finds out why.
func (r *taskRun) relayEvents(ctx workflow.Context) {
	if !r.attempt.Tail {
		return
	}
	child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            contract.TailWorkflowID(r.attempt.SandboxID),
		TaskQueue:             contract.QueueTasks,
		ParentClosePolicy:     enums.PARENT_CLOSE_POLICY_ABANDON,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:         "events and messages of " + task.SandboxName(r.attempt.SandboxID),
	}), contract.PullRelayWorkflow, contract.TailInput{SandboxRef: r.ref(), Queue: r.attempt.Queue})
	err := child.GetChildWorkflowExecution().Get(ctx, nil)
	if err != nil && !temporal.IsWorkflowExecutionAlreadyStartedError(err) {
		workflow.GetLogger(ctx).Warn("tail not started", "sandbox_id", r.attempt.SandboxID, "error", err)
	}
}

// leastDrain is how long the rest of a spool is read for, also where saving the work has used
// up the window.
const leastDrain = 30 * time.Second

// drain reads what the agent's spool still holds, and ends the tail. A spool that cannot be
// read within the window keeps nothing alive, and the receipt says so.
func (c *cleanup) drain(ctx workflow.Context) error {
	if !c.box.Tail {
		return nil
	}
	defer c.endTail(ctx)
	c.receipt.Unread = true
	if c.receipt.Salvage == task.SalvageLost {
		return nil
	}
	work := c.there(contract.FlushSpool)
	work.within = max(c.giveUp.Sub(workflow.Now(ctx)), leastDrain)
	err := work.get(ctx, c.ref, nil)
	switch {
	case err == nil:
		c.receipt.Unread = false
	case unattended(err) && workflow.Now(ctx).Before(c.giveUp):
		return err
	default:
		workflow.GetLogger(ctx).Warn("spool not read to its end", "sandbox_id", c.ref.SandboxID, "error", err)
	}
	return nil
}

// endTail cancels the tail; one that has ended, or never began, is no error.
func (c *cleanup) endTail(ctx workflow.Context) {
	if !c.box.Tail {
		return
	}
	err := workflow.RequestCancelExternalWorkflow(ctx, contract.TailWorkflowID(c.ref.SandboxID), "").Get(ctx, nil)
	if err != nil {
		workflow.GetLogger(ctx).Debug("tail not cancelled", "sandbox_id", c.ref.SandboxID, "error", err)
	}
}
