package taskcmd

import (
	"context"
	"slices"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
)

// failing is why the running attempt has stored no checkpoint since.
type failing struct {
	Checkpoint int       `json:"checkpoint"` // the newest that was begun
	Reason     string    `json:"reason"`
	Error      string    `json:"error"`
	Since      time.Time `json:"since"`
}

// failingOf returns the newest failure of the running attempt's checkpoints; nil if a checkpoint was stored since, or if that is unknown.
func failingOf(ctx context.Context, api *client.Client, t client.Task) *failing {
	last := t.Last()
	if t.Status != task.StatusRunning || last.SandboxID == "" {
		return nil
	}
	page, err := api.NewestEvents(ctx, last.SandboxID, client.EventFilter{Type: event.AgentCheckpointFailed, Limit: 1})
	if err != nil || len(page.Events) == 0 {
		return nil
	}
	f := event.Read[failing](page.Events[0].EventData)
	f.Since = page.Events[0].CreatedAt
	stored, err := api.Checkpoints(ctx, t.ID)
	if err != nil || slices.ContainsFunc(stored, func(c client.Checkpoint) bool { return c.Attempt == last.Number && c.Number > f.Checkpoint }) {
		return nil
	}
	return &f
}
