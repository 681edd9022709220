package client

import (
	"context"
)

// EventCounts counts the events of a sandbox by type.
func (c *Client) EventCounts(ctx context.Context, sandboxID string) (EventCounts, error) {
	return answer[EventCounts](ctx, c, call{path: item("sandboxes", sandboxID, "counts")})
}

// EventFilter selects events of a sandbox. Zero values do not filter.
type EventFilter struct {
	Type  string
	Limit int // 1..500; 0 is 100
}

// NewestEvents lists the events of a sandbox, newest first.
func (c *Client) NewestEvents(ctx context.Context, sandboxID string, f EventFilter) (SandboxEvents, error) {
	q := query("event_type", f.Type, "limit", positive(f.Limit))
	return answer[SandboxEvents](ctx, c, call{path: item("sandboxes", sandboxID, "events"), query: q})
}
