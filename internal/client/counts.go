package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/omoi-dev/omoi/internal/task"
)

// EventCounts are the events of a sandbox by type.
type EventCounts = task.EventCounts

// EventCounts counts the events of a sandbox by type.
func (c *Client) EventCounts(ctx context.Context, sandboxID string) (EventCounts, error) {
	var out EventCounts
	_, err := c.do(ctx, call{method: http.MethodGet, path: item("sandboxes", sandboxID, "counts")}, &out)
	return out, err
}

// EventFilter selects events of a sandbox. Zero values do not filter.
type EventFilter struct {
	Type   string
	Limit  int    // 1..500; 0 is 100
	Cursor string // next_cursor of the page before: goes on to older ones
}

// NewestEvents lists the events of a sandbox, newest first.
func (c *Client) NewestEvents(ctx context.Context, sandboxID string, f EventFilter) (SandboxEvents, error) {
	q := url.Values{}
	set(q, "event_type", f.Type)
	set(q, "cursor", f.Cursor)
	if f.Limit > 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	var out SandboxEvents
	_, err := c.do(ctx, call{method: http.MethodGet, path: item("sandboxes", sandboxID, "events"), query: q}, &out)
	return out, err
}
