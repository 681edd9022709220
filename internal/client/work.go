package client

import (
	"context"
	"io"
	"strconv"

	"github.com/omoi-dev/omoi/internal/savedwork"
)

// SavedWork is one element of GET /api/v1/tasks/{id}/work.
type SavedWork = savedwork.SavedWork

// Work lists where the work of a task's attempts is, the first attempt first.
func (c *Client) Work(ctx context.Context, taskID string) ([]SavedWork, error) {
	page, err := answer[Page[SavedWork]](ctx, c, call{path: item("tasks", taskID, "work")})
	return page.Items, err
}

// WriteWork writes the patch or the bundle to w that is kept of an attempt's work, and returns its length.
func (c *Client) WriteWork(ctx context.Context, taskID string, attempt int, w io.Writer) (int64, error) {
	return c.download(ctx, item("tasks", taskID, "work", strconv.Itoa(attempt)), w)
}
