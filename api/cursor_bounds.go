package api

import (
	"context"

	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/task"
)

// beyondTask reports whether a cursor lies beyond the newest event of an attempt. A reader that continues there would
// wait for events and miss those before it.
func (a *API) beyondTask(ctx context.Context, taskID string, after ingest.Cursor) (bool, error) {
	if after == (ingest.Cursor{}) {
		return false, nil
	}
	heads, err := a.deps.EventLog.TaskHeads(ctx, taskID)
	return err == nil && !after.Within(heads), err
}

// reached refuses a cursor beyond all that is stored. Streams say event: reset instead.
func (a *API) reached(ctx context.Context, in *taskEventsIn, after ingest.Cursor) error {
	far, err := a.beyondTask(ctx, in.ID, after)
	if far {
		return task.Invalid("after", "The place after %q lies beyond all that is stored here: it is of another server, or "+
			"the database was restored since. Ask without after, and forget what you have.",
			clip(in.After))
	}
	return err
}

// knownCursor returns the number of the event that a cursor names; 0, as without one, if no such event can be stored
// here.
func (a *API) knownCursor(ctx context.Context, sandboxID, cursor string) (int64, error) {
	sequence, ok := ingest.ParseEventID(sandboxID, cursor)
	if !ok || sequence == 0 {
		return 0, nil
	}
	head, err := a.deps.EventLog.SandboxHead(ctx, sandboxID)
	if err != nil || sequence > head {
		return 0, err
	}
	return sequence, nil
}
