package workflows

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// errFenced ends a run quietly: another run owns the task.
var errFenced = errors.New("another run owns this task")

// taskRun is one run of a task's workflow.
type taskRun struct {
	in      contract.TaskInput
	id      string // task ID
	first   string // run ID at the head of this chain
	loaded  contract.LoadedTask
	ordinal int64 // number of the last write to the store; fences older writes

	stage   stage
	judge   task.State
	last    fact         // the fact that ended the last attempt, or the task
	effects task.Effects // of that fact

	attempt  *contract.LiveAttempt
	watch    contract.WatchState
	branched bool                         // this run has found or created the branch
	cleanup  workflow.ChildWorkflowFuture // of the last attempt
	next     nextAttempt
	timer    workflow.Future // of watchAttempt; nil if none is pending
	timerAt  time.Time       // when it fires
	pull     contract.PullResult

	inbox    inbox
	settle   []contract.Settlement // outcomes of commands, for the next write of the state
	accepted []string              // commands that are settled when the work is published
	view     view
}

// TaskWorkflow runs one task from acceptance to its end, over all its attempts. The workflow of a failed task closes as Failed
// with the failure class as the error's type, that of a cancelled task as Canceled.
func TaskWorkflow(ctx workflow.Context, in contract.TaskInput) (contract.TaskResult, error) {
	r := &taskRun{in: in, id: in.TaskID, first: workflow.GetInfo(ctx).FirstRunID}
	if err := r.view.register(ctx, r); err != nil {
		return contract.TaskResult{}, err
	}
	free, _ := workflow.NewDisconnectedContext(ctx)
	result, err := r.run(ctx, free)
	if errors.Is(err, errFenced) {
		return contract.TaskResult{Status: r.judge.Status, Reason: errFenced.Error()}, nil
	}
	return result, err
}

// run loads the task and runs its stages. cancel carries a cancel request, free does not.
func (r *taskRun) run(cancel, free workflow.Context) (contract.TaskResult, error) {
	if err := r.load(cancel, free); err != nil {
		return contract.TaskResult{}, err
	}
	switch {
	case r.loaded.Lost:
		return contract.TaskResult{Status: r.judge.Status, Reason: "another run carries out this command"}, nil
	case r.loaded.Settled != "":
		r.judge.Status = r.loaded.Settled // a new run has the search attributes of its start
		return contract.TaskResult{Status: r.loaded.Settled, Reason: "already " + string(r.loaded.Settled)}, r.publishStatus(free)
	}
	r.inbox.open(cancel, free, r)
	for r.stage != done {
		next, err := r.runStage(free)
		if err != nil {
			return contract.TaskResult{}, err
		}
		r.stage = next
	}
	return r.close(free)
}

// load reads the state from the input of a continue-as-new, else from the store. It asks the store in both cases, because the
// input of a run that was reset may be out of date.
func (r *taskRun) load(cancel, free workflow.Context) error {
	ref := contract.TaskRef{TaskID: r.id, FirstRunID: r.first, CommandID: r.in.CommandID}
	if s := r.in.State; s != nil {
		r.loaded, r.judge, r.ordinal, r.attempt, r.watch = s.Task, s.Judge, s.Ordinal, s.Attempt, s.Watch
		ref.Continues = s.RunID
	}
	r.view.enter(free, "loading the task")
	var loaded contract.LoadedTask
	if err := (call{name: contract.LoadTask}).get(free, ref, &loaded); err != nil {
		return err
	}
	if loaded.Continues {
		r.stage, r.branched = running, true
		r.catchUp(free, loaded.Live)
		return nil
	}
	r.loaded, r.judge, r.ordinal = loaded, loaded.State, loaded.Ordinal
	r.attempt, r.watch, r.stage = nil, contract.WatchState{}, queued
	r.judge.SandboxID = "" // of a live attempt; resume sets it
	if loaded.Checkpoint != "" {
		r.next = nextAttempt{kind: kindRewound, checkpoint: loaded.Checkpoint}
	}
	if r.loaded.Reset {
		r.inbox.dropReapplied(cancel, free)
	}
	return nil
}

// close records the end of the task, starts the cleanup of its sandbox and returns the result of the workflow.
func (r *taskRun) close(ctx workflow.Context) (contract.TaskResult, error) {
	status := r.effects.Status
	r.settleAccepted(status)
	err := r.endAttempt(ctx, r.outcome(string(status)), func(p *contract.Projection) {
		p.ReleaseSlot, p.PullURL, p.PullNumber = true, r.pull.URL, r.pull.Number
	})
	if err == nil {
		err = r.refuseLate(ctx)
	}
	if err != nil {
		return contract.TaskResult{}, err
	}
	r.stage = done
	r.view.enter(ctx, string(status))
	switch status { //nolint:exhaustive // the other statuses are not final
	case task.StatusFailed:
		return contract.TaskResult{}, temporal.NewNonRetryableApplicationError(r.last.sentence(), string(r.effects.Class), nil)
	case task.StatusCancelled:
		return contract.TaskResult{}, temporal.NewCanceledError(r.last.sentence())
	}
	return contract.TaskResult{Status: status, Branch: r.loaded.Branch, PullURL: r.pull.URL}, nil
}

// mayContinue reports whether the history is long enough for a new run and nothing pending would be lost. Only the stage
// running calls it, because the main coroutine has no pending activity then.
func (r *taskRun) mayContinue(ctx workflow.Context) bool {
	long := workflow.GetInfo(ctx).GetContinueAsNewSuggested() || r.inbox.signals >= r.loaded.Settings.MaxSignals
	return long && !r.inbox.busy && len(r.inbox.facts) == 0 && len(r.settle)+len(r.accepted) == 0
}

// continueAsNew returns the error that starts a new run in this workflow task, or nil if the workflow task delivered a fact.
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

// letInboxRun yields to the inbox coroutine in this workflow task. The inbox may hold a signal that it has taken from the
// channel and not applied; a new run would lose that signal.
func letInboxRun(ctx workflow.Context) {
	ran := false
	_ = workflow.Await(ctx, func() bool {
		was := ran
		ran = true
		return was
	})
}
