package app

import (
	"context"

	"github.com/omoi-dev/omoi/internal/task"
)

// endedRuns finds tasks whose workflow was ended from outside.
type endedRuns struct {
	store interface {
		RunLoaded(ctx context.Context, taskID string) (bool, error)
		Abandon(ctx context.Context, taskID, reason string) error
	}
	runs interface {
		CurrentRun(ctx context.Context, taskID string) (runID string, open bool, err error)
	}
}

// writeOff writes the task off if nobody will end it, and reports whether. What Temporal
// cannot tell stays as it is.
func (e endedRuns) writeOff(ctx context.Context, taskID string) (bool, error) {
	loaded, err := e.store.RunLoaded(ctx, taskID)
	if err != nil || !loaded {
		return false, err
	}
	_, open, err := e.runs.CurrentRun(ctx, taskID)
	if open || (err != nil && task.CodeOf(err) != task.CodeNotFound) {
		return false, err
	}
	return true, e.store.Abandon(ctx, taskID, "The workflow was ended from outside.")
}
