package activities

import (
	"context"
	"log/slog"

	"go.temporal.io/sdk/activity"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// Bounds of texts that travel in histories.
const (
	maxTitleBytes  = 120
	maxReasonRunes = 200
)

// LoadTask says what is known and left to do of a task.
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

// SaveTaskState writes what the task's row shall say, unless a later projection stands. Another
// run gives way only to the run that Temporal names as the current one.
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
		a.tryCleanAfter(ctx, in.TaskID) // of a run that was reset the workflow knows nothing
	}
	return out, err
}

// tryCleanAfter hands over what a task has left. What it cannot the reaper does later.
func (a *Activities) tryCleanAfter(ctx context.Context, taskID string) {
	if err := a.cleanAfter(ctx, taskID); err != nil {
		a.log.WarnContext(ctx, "start cleanup of earlier attempts failed", slog.String("task_id", taskID), slog.String("error", a.brief(err.Error())))
	}
}

// BeginAttempt answers the attempt of this run and ordinal, new or known. While that has to wait, what earlier attempts have left
// is cleaned up.
func (a *Activities) BeginAttempt(ctx context.Context, in contract.BeginAttemptInput) (contract.BeginAttemptResult, error) {
	out, err := a.deps.Tasks.BeginAttempt(ctx, in, runID(ctx))
	if err == nil && out.Wait > 0 {
		a.tryCleanAfter(ctx, in.TaskID)
	}
	return out, err
}

// LoadCommand reads a command's row, and makes one for a command that came from the
// temporal CLI.
func (a *Activities) LoadCommand(ctx context.Context, in contract.LoadCommandInput) (contract.LoadedCommand, error) {
	out, err := a.deps.Tasks.LoadCommand(ctx, in, runID(ctx))
	out.Reason = a.brief(out.Reason)
	return out, err
}

// LoadEvents answers the digest of the events after a sequence, as the relay would send it.
func (a *Activities) LoadEvents(ctx context.Context, in contract.LoadEventsInput) (contract.Digest, error) {
	out, err := a.deps.Tasks.LoadEvents(ctx, in)
	for i := range out.Milestones {
		out.Milestones[i].StopReason = a.brief(out.Milestones[i].StopReason)
	}
	return out, err
}

// runID is the caller's Temporal run.
func runID(ctx context.Context) string {
	return activity.GetInfo(ctx).WorkflowExecution.RunID
}
