package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
)

// mayContinue reports whether the history is long enough to begin a new one and nothing is
// under way that would be lost. It is asked while watching only: no activity of the main
// coroutine is in flight then.
func (r *taskRun) mayContinue(ctx workflow.Context) bool {
	long := workflow.GetInfo(ctx).GetContinueAsNewSuggested() || r.inbox.signals >= r.loaded.Settings.MaxSignals
	return long && !r.inbox.busy && len(r.inbox.facts) == 0 && len(r.settle)+len(r.kept) == 0
}

// continueAsNew begins a new history in this very workflow task, unless something has come in
// with it: then it answers nil, and the watch goes on.
func (r *taskRun) continueAsNew(ctx workflow.Context) error {
	letPumpRun(ctx)
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

// letPumpRun gives the pump its turn in this workflow task. A signal that wakes the pump is in
// its hands and in no channel: without this turn it would be lost with the history.
func letPumpRun(ctx workflow.Context) {
	ran := false
	_ = workflow.Await(ctx, func() bool {
		was := ran
		ran = true
		return was
	})
}
