package client

import (
	"context"
)

// SandboxesStatus lists the sandboxes in which agents are at work, with their activity.
func (c *Client) SandboxesStatus(ctx context.Context) (SandboxesStatus, error) {
	return answer[SandboxesStatus](ctx, c, call{path: prefix + "/sandboxes/monitoring/status"})
}

// Integrity says whether the events of a sandbox are 1..n, each once.
func (c *Client) Integrity(ctx context.Context, id string) (Integrity, error) {
	return answer[Integrity](ctx, c, call{path: item("sandboxes", id, "integrity")})
}
