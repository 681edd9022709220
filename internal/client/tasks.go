package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// CreateTask asks for a task. With a key that is not empty the same key and body answer
// the same task; made is false then. The same key with another body is [task.CodeConflict].
func (c *Client) CreateTask(ctx context.Context, in NewTask, key string) (t Task, made bool, err error) {
	header := http.Header{}
	if key != "" {
		header.Set("Idempotency-Key", key)
	}
	status, err := c.do(ctx, call{method: http.MethodPost, path: prefix + "/tasks", header: header, body: in}, &t)
	return t, status == http.StatusCreated, err
}

// Task returns one task with its attempts; [task.CodeNotFound] if the caller's organization has no such task.
func (c *Client) Task(ctx context.Context, id string) (Task, error) {
	var t Task
	_, err := c.do(ctx, call{method: http.MethodGet, path: item("tasks", id)}, &t)
	return t, err
}

// Tasks lists tasks without their attempts, newest first.
func (c *Client) Tasks(ctx context.Context, f TaskFilter) (Page[Task], error) {
	var page Page[Task]
	_, err := c.do(ctx, call{method: http.MethodGet, path: prefix + "/tasks", query: f.query()}, &page)
	return page, err
}

func (f TaskFilter) query() url.Values {
	q := url.Values{}
	set(q, "status", f.Status)
	set(q, "phase_id", f.PhaseID)
	set(q, "ticket_id", f.TicketID)
	set(q, "project_id", f.ProjectID)
	set(q, "id", f.ID)
	set(q, "cursor", f.Cursor)
	if f.HasSandbox != nil {
		q.Set("has_sandbox", strconv.FormatBool(*f.HasSandbox))
	}
	if f.Limit > 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	return q
}

func set(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}

// PatchTask changes title, priority or, while the task is pending, its description.
func (c *Client) PatchTask(ctx context.Context, id string, in TaskPatch) (Task, error) {
	var t Task
	_, err := c.do(ctx, call{method: http.MethodPatch, path: item("tasks", id), body: in}, &t)
	return t, err
}

// Cancel asks to stop a task; settled is false if the outcome was not known within two
// seconds. A task that has ended already is [task.CodeConflict], and so it is for Fail.
func (c *Client) Cancel(ctx context.Context, id, reason string) (asked Asked, settled bool, err error) {
	return c.ask(ctx, id, "cancel", reason)
}

// Fail declares a task failed and stops it.
func (c *Client) Fail(ctx context.Context, id, reason string) (asked Asked, settled bool, err error) {
	return c.ask(ctx, id, "fail", reason)
}

// Retry asks for a new run of a failed, cancelled or parked task; any other is [task.CodeConflict].
func (c *Client) Retry(ctx context.Context, id, reason string) (asked Asked, settled bool, err error) {
	return c.ask(ctx, id, "retry", reason)
}

// Judge gives a person's verdict on the work of a task.
func (c *Client) Judge(ctx context.Context, id string, v PersonVerdict) (asked Asked, settled bool, err error) {
	status, err := c.do(ctx, call{method: http.MethodPost, path: item("tasks", id, "verdict"), body: v}, &asked)
	return asked, status == http.StatusOK, err
}

func (c *Client) ask(ctx context.Context, id, what, reason string) (Asked, bool, error) {
	var asked Asked
	status, err := c.do(ctx, call{method: http.MethodPost, path: item("tasks", id, what), body: ReasonRequest{Reason: reason}}, &asked)
	return asked, status == http.StatusOK, err
}

// Command returns the receipt of a command.
func (c *Client) Command(ctx context.Context, id string) (Command, error) {
	var found Command
	_, err := c.do(ctx, call{method: http.MethodGet, path: item("commands", id)}, &found)
	return found, err
}

// Events returns what a task's sandboxes reported behind the cursor after, oldest first;
// an empty cursor begins at the beginning. While there is nothing it waits, at most wait
// and at most 30 s; zero does not wait.
func (c *Client) Events(ctx context.Context, id, after string, wait time.Duration) (EventPage, error) {
	q := url.Values{}
	set(q, "after", after)
	if wait > 0 {
		q.Set("wait", wait.String())
	}
	var page EventPage
	_, err := c.do(ctx, call{method: http.MethodGet, path: item("tasks", id, "events"), query: q}, &page)
	return page, err
}

// Diff writes the unified diff of the task's branch; [task.CodeNotFound] if it has no branch yet.
func (c *Client) Diff(ctx context.Context, id string, w io.Writer) error {
	res, err := c.send(ctx, call{method: http.MethodGet, path: item("tasks", id, "diff")})
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if _, err := io.Copy(w, res.Body); err != nil {
		return fmt.Errorf("read the diff of task %s: %w", id, err)
	}
	return nil
}

// Dependencies returns the tasks that must be completed before this one begins.
func (c *Client) Dependencies(ctx context.Context, id string) (DependsOn, error) {
	var d DependsOn
	_, err := c.do(ctx, call{method: http.MethodGet, path: item("tasks", id, "dependencies")}, &d)
	return d, err
}

// SetDependencies replaces them all; [task.CodeInvalid] for unknown ids and cycles.
func (c *Client) SetDependencies(ctx context.Context, id string, in DependsOn) (DependsOn, error) {
	var d DependsOn
	_, err := c.do(ctx, call{method: http.MethodPut, path: item("tasks", id, "dependencies"), body: in}, &d)
	return d, err
}
