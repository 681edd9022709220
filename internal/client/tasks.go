package client

import (
	"context"
	"io"
	"net/http"
	"time"
)

// CreateTask asks for a task. With a key that is not empty the same key and body answer
// the same task; made is false then. The same key with another body is [task.CodeConflict].
func (c *Client) CreateTask(ctx context.Context, in NewTask, key string) (t Task, made bool, err error) {
	status, err := c.do(ctx, call{method: http.MethodPost, path: prefix + "/tasks", header: once(key), body: in}, &t)
	return t, status == http.StatusCreated, err
}

// Task returns one task with its attempts; [task.CodeNotFound] if the caller's organization has no such task.
func (c *Client) Task(ctx context.Context, id string) (Task, error) {
	return answer[Task](ctx, c, call{path: item("tasks", id)})
}

// Tasks lists tasks without their attempts, newest first.
func (c *Client) Tasks(ctx context.Context, f TaskFilter) (Page[Task], error) {
	q := query("status", f.Status, "ticket_id", f.TicketID, "id", f.ID, "cursor", f.Cursor, "limit", positive(f.Limit))
	return answer[Page[Task]](ctx, c, call{path: prefix + "/tasks", query: q})
}

// once is the header of a request that may be sent twice; an empty key sends none.
func once(key string) http.Header {
	if key == "" {
		return nil
	}
	return http.Header{"Idempotency-Key": {key}}
}

// Cancel asks to stop a task; settled is false if the outcome was not known within two
// seconds. A task that has ended already is [task.CodeConflict].
func (c *Client) Cancel(ctx context.Context, id, reason string) (asked CommandResult, settled bool, err error) {
	return c.ask(ctx, id, "cancel", reason)
}

// Retry asks for a new run of a failed, cancelled or parked task; any other is [task.CodeConflict].
func (c *Client) Retry(ctx context.Context, id, reason string) (asked CommandResult, settled bool, err error) {
	return c.ask(ctx, id, "retry", reason)
}

// Judge gives a person's verdict on the work of a task.
func (c *Client) Judge(ctx context.Context, id string, v PersonVerdict) (asked CommandResult, settled bool, err error) {
	status, err := c.do(ctx, call{method: http.MethodPost, path: item("tasks", id, "verdict"), body: v}, &asked)
	return asked, status == http.StatusOK, err
}

func (c *Client) ask(ctx context.Context, id, what, reason string) (CommandResult, bool, error) {
	var asked CommandResult
	status, err := c.do(ctx, call{
		method: http.MethodPost, path: item("tasks", id, what), body: ReasonRequest{Reason: reason},
	}, &asked)
	return asked, status == http.StatusOK, err
}

// Events returns what a task's sandboxes reported behind the cursor after, oldest first;
// an empty cursor begins at the beginning. While there is nothing it waits, at most wait
// and at most 30 s; zero does not wait.
func (c *Client) Events(ctx context.Context, id, after string, wait time.Duration) (EventPage, error) {
	q := query("after", after, "wait", patience(wait))
	return answer[EventPage](ctx, c, call{path: item("tasks", id, "events"), query: q})
}

// Diff writes the unified diff of the task's branch; [task.CodeNotFound] if it has no branch yet.
func (c *Client) Diff(ctx context.Context, id string, w io.Writer) error {
	_, err := c.download(ctx, item("tasks", id, "diff"), w)
	return err
}
