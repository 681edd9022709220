package workflows

import (
	"errors"

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
	id      string // task id
	first   string // run id at the head of this chain
	loaded  contract.LoadedTask
	judge   task.State
	ordinal int64

	attempt *contract.LiveAttempt
	watch   contract.WatchState

	inbox  inbox
	settle []contract.Settlement // commands whose outcome the next projection tells
	kept   []string              // commands that the end of the publishing will settle
	last   fact                  // the fact that ended the last attempt, or the task
	next   nextAttempt
	// unverified are the cleanups of this run that saw their sandboxes to be gone, and will look again.
	unverified []workflow.ChildWorkflowFuture
	// left are sandboxes whose cleanups this run cannot wait for: another run, or the reaper, has begun them.
	left []string
	// unbranched says that the branch is to be found or made before the next attempt.
	unbranched bool
	pull       contract.PullResult
	view       view
}

// TaskWorkflow carries one task from its acceptance to its end, over all its attempts. A
// failed task closes as Failed with its failure class as the error's type, a cancelled one
// as Canceled.
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

// run loads the task and takes it to its end. cancel carries a cancel request, free does not.
func (r *taskRun) run(cancel, free workflow.Context) (contract.TaskResult, error) {
	if err := r.load(cancel, free); err != nil {
		return contract.TaskResult{}, err
	}
	if r.loaded.Lost {
		return contract.TaskResult{Status: r.judge.Status, Reason: "another run carries out this command"}, nil
	}
	if r.loaded.Settled != "" {
		r.judge.Status = r.loaded.Settled
		if err := r.publishStatus(free); err != nil { // a new run has the attributes of its start
			return contract.TaskResult{}, err
		}
		return contract.TaskResult{Status: r.loaded.Settled, Reason: "already " + string(r.loaded.Settled)}, nil
	}
	r.inbox.open(cancel, free, r)
	eff, err := r.work(free)
	if err != nil {
		return contract.TaskResult{}, err
	}
	return r.close(free, eff)
}

// load reads what is known: from the run before on a continue-as-new, else from the store.
// The store is asked in both cases: a reset of a run that continued another one finds in its
// input what has long been overtaken.
func (r *taskRun) load(cancel, free workflow.Context) error {
	ref := contract.TaskRef{TaskID: r.id, FirstRunID: r.first, CommandID: r.in.CommandID}
	if s := r.in.State; s != nil {
		r.loaded, r.judge, r.ordinal, r.attempt, r.watch = s.Task, s.Judge, s.Ordinal, s.Attempt, s.Watch
		ref.Continues = s.RunID
	}
	r.view.enter(free, "loading")
	var loaded contract.LoadedTask
	if err := (call{name: contract.LoadTask}).get(free, ref, &loaded); err != nil {
		return err
	}
	r.left, loaded.Left = loaded.Left, nil
	if loaded.Continues {
		r.catchUp(free, loaded.Live)
		return nil
	}
	r.loaded, r.judge, r.ordinal = loaded, loaded.State, loaded.Ordinal
	r.attempt, r.watch = nil, contract.WatchState{}
	r.judge.SandboxID = "" // of a live attempt; resume sets it
	if r.loaded.Reset {
		r.inbox.dropReapplied(cancel, free)
	}
	return nil
}

// work takes the task through its phases and answers how it ends.
func (r *taskRun) work(ctx workflow.Context) (task.Effects, error) {
	eff := task.Effects{Action: task.ActionBegin}
	if r.attempt == nil {
		var err error
		if eff, err = r.prepare(ctx); err != nil {
			return eff, err
		}
	}
	for {
		var err error
		switch eff.Action {
		case task.ActionFinish:
			return eff, nil
		case task.ActionPublish:
			eff, err = r.publish(ctx)
		case task.ActionValidate:
			eff, err = r.handIn(ctx)
		case task.ActionPark:
			eff, err = r.park(ctx, eff)
		case task.ActionBegin, task.ActionStay, task.ActionIgnore:
			eff, err = r.goOn(ctx)
		}
		if err != nil {
			return eff, err
		}
	}
}

// prepare waits for a slot and for the branch, and goes on with a live attempt if there is one.
func (r *taskRun) prepare(ctx workflow.Context) (task.Effects, error) {
	if eff, over, err := r.admit(ctx); over || err != nil {
		return eff, err
	}
	if r.loaded.PublishOnly {
		r.judge.Publishing = true
		return task.Effects{Action: task.ActionPublish}, nil
	}
	if eff, over, err := r.branch(ctx); over || err != nil {
		return eff, err
	}
	if live := r.loaded.Live; live != nil {
		r.resume(ctx, *live)
	}
	if r.loaded.Saved {
		return task.Effects{Action: task.ActionValidate}, nil
	}
	return task.Effects{Action: task.ActionBegin}, nil
}

// close writes the task's end, hands over a sandbox that is still there and ends the
// workflow as the task ended.
func (r *taskRun) close(ctx workflow.Context, eff task.Effects) (contract.TaskResult, error) {
	reason := r.last.sentence()
	r.settleKept(eff)
	err := r.endAttempt(ctx, r.outcome(string(eff.Status)), func(p *contract.Projection) {
		p.ReleaseSlot, p.Class, p.Reason, p.ErrorID, p.Quotes = true, eff.Class, reason, r.last.errorID, r.last.quotes
		p.PullURL, p.PullNumber = r.pull.URL, r.pull.Number
	})
	if err == nil {
		err = r.refuseLate(ctx)
	}
	if err != nil {
		return contract.TaskResult{}, err
	}
	r.view.enter(ctx, string(eff.Status))
	switch eff.Status { //nolint:exhaustive // the rest are no ends
	case task.StatusFailed:
		return contract.TaskResult{}, temporal.NewNonRetryableApplicationError(reason, string(eff.Class), nil)
	case task.StatusCancelled:
		return contract.TaskResult{}, temporal.NewCanceledError(reason)
	}
	return contract.TaskResult{Status: eff.Status, Branch: r.loaded.Branch, PullURL: r.pull.URL}, nil
}
