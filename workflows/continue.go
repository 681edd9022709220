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
	return long && !r.inbox.busy && len(r.inbox.facts) == 0 && len(r.settle) == 0
}

// continueAsNew begins a new history in this very workflow task, once every channel is
// drained. A command that is there comes first.
func (r *taskRun) continueAsNew(ctx workflow.Context) error {
	commands := workflow.GetSignalChannel(ctx, contract.SignalCommand)
	if commands.Len() > 0 {
		_ = workflow.Await(ctx, func() bool { return r.inbox.busy || r.inbox.waiting(false) })
		return nil
	}
	digests := workflow.GetSignalChannel(ctx, contract.SignalSandboxEvents)
	var d contract.Digest
	for digests.ReceiveAsync(&d) {
		r.applyDigest(ctx, d) // a gap is read by an activity; the next round continues then
		d = contract.Digest{}
	}
	if len(r.inbox.facts) > 0 || commands.Len() > 0 || digests.Len() > 0 {
		return nil
	}
	in := r.in
	in.State = &contract.TaskState{
		Version: contract.TaskStateVersion, Ordinal: r.ordinal, Judge: r.judge,
		Task: r.loaded, Attempt: r.attempt, Watch: r.watch,
	}
	return workflow.NewContinueAsNewError(ctx, contract.TaskWorkflow, in)
}
