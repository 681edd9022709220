package activities

import (
	"context"
	"log/slog"

	"go.temporal.io/sdk/activity"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// Limits of texts in histories.
const (
	maxTitleBytes  = 120
	maxReasonRunes = 200
)

// LoadTask returns the task and what is left to do.
func (a *Activities) LoadTask(ctx context.Context, in contract.TaskRef) (contract.LoadedTask, error) {
	out, err := a.deps.Tasks.LoadTask(ctx, in, runID(ctx))
	if task.CodeOf(err) == task.CodeNotFound {
		return out, classed(task.ClassInvalidInput, err)
	}
	if err != nil {
		return out, err
	}
	out.Title = cutBytes(a.scrub(out.Title), maxTitleBytes)
	return out, nil
}

// SaveTaskState writes the task's row unless it holds a later projection. If another run wrote last, only the run that
// Temporal names as the current one writes.
func (a *Activities) SaveTaskState(ctx context.Context, in contract.Projection) (contract.Projected, error) {
	own := runID(ctx)
	current := func(ctx context.Context) (bool, error) {
		newest, _, err := a.deps.Runs.CurrentRun(ctx, in.TaskID)
		return newest == own, err
	}
	out, err := a.deps.Tasks.SaveTaskState(ctx, in, own, current)
	if err == nil && a.deps.Wake != nil {
		a.deps.Wake(in.TaskID)
	}
	if err == nil && !out.Fenced && in.Status.Final() && in.Ended == nil {
		a.tryCleanAfter(ctx, in.TaskID) // the workflow knows nothing of the sandboxes of a run that was reset
	}
	return out, err
}

// tryCleanAfter starts the cleanup of the sandboxes that a task left. The reaper repeats what fails.
func (a *Activities) tryCleanAfter(ctx context.Context, taskID string) {
	if err := a.cleanAfter(ctx, taskID); err != nil {
		a.log.WarnContext(ctx, "start cleanup of earlier attempts failed, leaving it to the reaper", slog.String("task_id", taskID), slog.String("error", a.brief(err.Error())))
	}
}

// BeginAttempt returns the attempt of this run and ordinal, new or existing. If it has to wait for sandboxes of earlier
// attempts, BeginAttempt starts their cleanup.
func (a *Activities) BeginAttempt(ctx context.Context, in contract.BeginAttemptInput) (contract.BeginAttemptResult, error) {
	out, err := a.deps.Tasks.BeginAttempt(ctx, in, runID(ctx))
	if err == nil && out.Wait > 0 {
		a.tryCleanAfter(ctx, in.TaskID)
	}
	return out, err
}

// LoadCommand returns a command's row. For a command from the temporal CLI it creates the row.
func (a *Activities) LoadCommand(ctx context.Context, in contract.LoadCommandInput) (contract.LoadedCommand, error) {
	out, err := a.deps.Tasks.LoadCommand(ctx, in, runID(ctx))
	out.Reason = a.brief(out.Reason)
	return out, err
}

// LoadEvents returns the digest of the events after a sequence, in the form of the relay's signal.
func (a *Activities) LoadEvents(ctx context.Context, in contract.LoadEventsInput) (contract.Digest, error) {
	out, err := a.deps.Tasks.LoadEvents(ctx, in)
	for i := range out.Milestones {
		out.Milestones[i].StopReason = a.brief(out.Milestones[i].StopReason)
	}
	return out, err
}

// runID returns the Temporal run of the caller.
func runID(ctx context.Context) string {
	return activity.GetInfo(ctx).WorkflowExecution.RunID
}
