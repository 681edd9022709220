package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
)

// mayContinue reports whether the history is long enough for a new run and nothing is under way that would be lost. It is called by the
// stage running only: no activity of the main coroutine is pending then.
func (r *taskRun) mayContinue(ctx workflow.Context) bool {
	long := workflow.GetInfo(ctx).GetContinueAsNewSuggested() || r.inbox.signals >= r.loaded.Settings.MaxSignals
	return long && !r.inbox.busy && len(r.inbox.facts) == 0 && len(r.settle)+len(r.accepted) == 0
}

// continueAsNew returns the error that starts a new run in this very workflow task, or nil if something has come in with the task.
func (r *taskRun) continueAsNew(ctx workflow.Context) error {
	letInboxRun(ctx)
	if !r.mayContinue(ctx) {
		return nil
	}
	in := r.in
	in.State = &contract.TaskState{
		Version: contract.TaskStateVersion, RunID: workflow.GetInfo(ctx).WorkflowExecution.RunID,
		Ordinal: r.ordinal, Judge: r.judge, Task: r.loaded, Attempt: r.attempt, Watch: r.watch,
	}
	return workflow.NewContinueAsNewError(ctx, contract.TaskWorkflow, in)
}

// letInboxRun lets the inbox coroutine run in this workflow task. It holds a signal that woke it, and no channel has that any more: it
// would be lost with the history.
func letInboxRun(ctx workflow.Context) {
	ran := false
	_ = workflow.Await(ctx, func() bool {
		was := ran
		ran = true
		return was
	})
}
