package client

import (
	"context"
	"net/http"
)

// SandboxesStatus lists the sandboxes in which agents are at work, with their activity.
func (c *Client) SandboxesStatus(ctx context.Context) (SandboxesStatus, error) {
	var out SandboxesStatus
	_, err := c.do(ctx, call{method: http.MethodGet, path: prefix + "/sandboxes/monitoring/status"}, &out)
	return out, err
}

// Integrity says whether the events of a sandbox are 1..n, each once.
func (c *Client) Integrity(ctx context.Context, id string) (Integrity, error) {
	var out Integrity
	_, err := c.do(ctx, call{method: http.MethodGet, path: item("sandboxes", id, "integrity")}, &out)
	return out, err
}
