package api

import (
	"context"

	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/task"
)

// beyond reports whether no event of a sandbox has the number of a place, or a later one. Who
// reads on from there waits for events, and never sees those before.
func (a *API) beyond(ctx context.Context, sandboxID string, after int64) (bool, error) {
	if after == 0 {
		return false, nil
	}
	head, err := a.deps.EventLog.SandboxHead(ctx, sandboxID)
	return err == nil && after > head, err
}

// beyondTask likewise, of the attempts of a task.
func (a *API) beyondTask(ctx context.Context, taskID string, after ingest.Cursor) (bool, error) {
	if after == (ingest.Cursor{}) {
		return false, nil
	}
	heads, err := a.deps.EventLog.TaskHeads(ctx, taskID)
	return err == nil && !after.Within(heads), err
}

// knownCursor is the number of the event that a cursor names; 0, as without one, if that cannot
// be here.
func (a *API) knownCursor(ctx context.Context, sandboxID, cursor string) (int64, error) {
	sequence, ok := ingest.ParseEventID(sandboxID, cursor)
	if !ok {
		return 0, nil
	}
	if far, err := a.beyond(ctx, sandboxID, sequence); far || err != nil {
		return 0, err
	}
	return sequence, nil
}

// errBeyond is for routes that have no word but a refusal for it; streams say event: reset.
func errBeyond(after string) error {
	return task.Invalid("after", "The place after %q lies beyond all that is stored here: it is of another server, or the database was restored since. Ask without after, and forget what you have.",
		clip(after))
}
