package client

import (
	"context"
	"net/http"

	"github.com/omoi-dev/omoi/internal/task"
)

// TaskReceipt proves what became of the sandboxes of a task.
type TaskReceipt = task.SandboxReceipt

// Receipt answers what became of every sandbox of a task.
func (c *Client) Receipt(ctx context.Context, taskID string) (TaskReceipt, error) {
	var out TaskReceipt
	_, err := c.do(ctx, call{method: http.MethodGet, path: item("tasks", taskID, "receipt")}, &out)
	return out, err
}
