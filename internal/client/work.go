package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/omoi-dev/omoi/internal/task"
)

// SavedWork is one element of GET /api/v1/tasks/{id}/work.
type SavedWork = task.SavedWork

// Work lists where the work of a task's attempts is, the first attempt first.
func (c *Client) Work(ctx context.Context, taskID string) ([]SavedWork, error) {
	var page Page[SavedWork]
	_, err := c.do(ctx, call{method: http.MethodGet, path: item("tasks", taskID, "work")}, &page)
	return page.Items, err
}

// WriteWork writes the patch or the bundle to w that is kept of an attempt's work, and answers its length.
func (c *Client) WriteWork(ctx context.Context, taskID string, attempt int, w io.Writer) (int64, error) {
	res, err := c.send(ctx, call{method: http.MethodGet, path: item("tasks", taskID, "work", strconv.Itoa(attempt))})
	if err != nil {
		return 0, err
	}
	defer func() { _ = res.Body.Close() }()
	n, err := io.Copy(w, res.Body)
	if err != nil {
		return n, fmt.Errorf("read the saved work: %w", err)
	}
	return n, nil
}
