package workflows

import (
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// handOver gives a sandbox to its cleanup workflow, which outlives this one, and waits for it a while. Whatever may follow
// begins with what was saved, once nothing can act in the sandbox any more: it waits for no second look. The end of a
// completed task does, and for those of the attempts before.
func (r *taskRun) handOver(ctx workflow.Context, a contract.LiveAttempt, reason string) error {
	child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            contract.CleanupWorkflowID(a.SandboxID),
		TaskQueue:             contract.QueueTasks,
		ParentClosePolicy:     enums.PARENT_CLOSE_POLICY_ABANDON,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
		StaticSummary:         reason,
	}), contract.CleanupWorkflow, contract.CleanupInput{
		SandboxID: a.SandboxID, TaskID: r.id, Attempt: a.Number, Reason: reason, Tell: contract.TaskWorkflowID(r.id),
	})
	if err := child.GetChildWorkflowExecution().Get(ctx, nil); err != nil {
		if temporal.IsWorkflowExecutionAlreadyStartedError(err) {
			r.left = append(r.left, a.SandboxID) // the reaper was quicker, or the run that this one was reset from
			return nil
		}
		return err
	}
	completed := r.judge.Status == task.StatusCompleted
	_, err := workflow.AwaitWithTimeout(ctx, r.loaded.Settings.CleanupWait, func() bool {
		if completed {
			return child.IsReady() && r.allVerified()
		}
		return child.IsReady() || r.inbox.gone[a.SandboxID]
	})
	if !child.IsReady() && r.inbox.gone[a.SandboxID] {
		r.unverified = append(r.unverified, child)
	}
	return err
}

// allVerified reports whether the sandboxes that were not waited for are seen to be gone for good.
func (r *taskRun) allVerified() bool {
	for _, cleanup := range r.unverified {
		if !cleanup.IsReady() {
			return false
		}
	}
	return true
}

// lastLooks waits until no sandbox of a completed task is left, but no longer than until a time. The ledger says it of those whose
// cleanups are another's.
func (r *taskRun) lastLooks(ctx workflow.Context, until time.Time) error {
	rest := func() time.Duration { return until.Sub(workflow.Now(ctx)) }
	if rest() <= 0 || r.allVerified() && len(r.left) == 0 || !looksLast(ctx) {
		return nil
	}
	if !r.allVerified() { // of a task that was parked before it was published
		if _, err := workflow.AwaitWithTimeout(ctx, rest(), r.allVerified); err != nil {
			return err
		}
	}
	for wait := time.Second; len(r.left) > 0 && rest() > 0; wait = min(2*wait, maxLook) {
		if r.lookAtLeft(ctx, rest); len(r.left) > 0 {
			if err := workflow.Sleep(ctx, min(wait, rest())); err != nil {
				return err
			}
		}
	}
	return nil
}

// looksLast is the gate of [taskRun.lastLooks]: runs that closed without these looks replay without them. It is asked only where
// something was left, so that other runs have no marker.
func looksLast(ctx workflow.Context) bool {
	return workflow.GetVersion(ctx, "last-looks", workflow.DefaultVersion, 1) != workflow.DefaultVersion
}

// maxLook is the longest pause between two looks into the ledger.
const maxLook = 30 * time.Second

// lookAtLeft forgets the sandboxes that the ledger has as gone for good, or as out of reach for ever. No answer is none.
func (r *taskRun) lookAtLeft(ctx workflow.Context, rest func() time.Duration) {
	var left []string
	for _, id := range r.left {
		var box contract.LoadedSandbox
		look := call{name: contract.LoadSandbox, summary: "left by another run", within: max(rest(), time.Second)}
		err := look.get(ctx, contract.SandboxRef{TaskID: r.id, SandboxID: id}, &box)
		if err != nil || box.Verify && !box.Verified && !box.Lost {
			left = append(left, id)
		}
	}
	r.left = left
}
