package workflows

import (
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// PullRelayWorkflow relays between a sandbox and the API in turns. It ends when the sandbox is deleted, when the agent has ended
// and all its events are read, or when the cleanup cancels it.
func PullRelayWorkflow(ctx workflow.Context, in contract.PullRelayInput) (contract.PullRelayResult, error) {
	result := contract.PullRelayResult{SandboxID: in.SandboxID}
	for range contract.PullTurns {
		var turn contract.PullRelayTurn
		err := call{name: contract.RelaySandbox, queue: contract.QueuePullRelays(in.Queue)}.get(ctx, in.SandboxRef, &turn)
		switch {
		case ctx.Err() != nil:
			result.Over = "cancelled"
			return result, nil //nolint:nilerr // the cleanup ends a pull relay by canceling it
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

// relayEvents starts the pull relay of an attempt whose agent cannot reach the API, unless the relay already runs. If the start
// fails, no heartbeats arrive, and the next check finds the cause.
func (r *taskRun) relayEvents(ctx workflow.Context) {
	if !r.attempt.Pulled {
		return
	}
	child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            contract.PullRelayWorkflowID(r.attempt.SandboxID),
		TaskQueue:             contract.QueueTasks,
		ParentClosePolicy:     enums.PARENT_CLOSE_POLICY_ABANDON,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:         "events and messages of " + task.SandboxName(r.attempt.SandboxID),
	}), contract.PullRelayWorkflow, contract.PullRelayInput{SandboxRef: r.ref(), Queue: r.attempt.Queue})
	err := child.GetChildWorkflowExecution().Get(ctx, nil)
	if err != nil && !temporal.IsWorkflowExecutionAlreadyStartedError(err) {
		workflow.GetLogger(ctx).Warn("start pull relay failed", "sandbox_id", r.attempt.SandboxID, "error", err)
	}
}
