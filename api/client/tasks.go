package client

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/feedback"
	"github.com/omoi-dev/omoi/internal/savedwork"
	"github.com/omoi-dev/omoi/internal/transcript"
)

// CreateTask creates a task. If key is not empty, repeating the same key and body returns the same task, and made is
// false. The same key with another body is [task.CodeConflict].
func (c *Client) CreateTask(ctx context.Context, in CreateTaskRequest, key string) (t Task, made bool, err error) {
	status, err := c.do(ctx, call{method: http.MethodPost, path: prefix + "/tasks", header: once(key), body: in}, &t)
	return t, status == http.StatusCreated, err
}

// Task returns one task with its attempts; [task.CodeNotFound] if the caller's organization has no such task.
func (c *Client) Task(ctx context.Context, id string) (Task, error) {
	return answer[Task](ctx, c, call{path: item("tasks", id)})
}

// Tasks lists tasks without their attempts.
func (c *Client) Tasks(ctx context.Context, f TaskFilter) (Page[Task], error) {
	q := query("status", f.Status, "ticket_id", f.TicketID, "id", f.ID, "group", f.Group, "q", f.Text, "cursor", f.Cursor,
		"limit", positive(f.Limit))
	if f.ByGroup {
		q.Set("order", "group")
	}
	return answer[Page[Task]](ctx, c, call{path: prefix + "/tasks", query: q})
}

// TaskCounts counts tasks by group.
func (c *Client) TaskCounts(ctx context.Context, f TaskFilter) (TaskCounts, error) {
	return answer[TaskCounts](ctx, c, call{path: prefix + "/tasks/counts", query: query("q", f.Text)})
}

// once returns the header of a request that may be sent twice; nil if key is empty.
func once(key string) http.Header {
	if key == "" {
		return nil
	}
	return http.Header{"Idempotency-Key": {key}}
}

// Cancel cancels a task; settled is false if the outcome was unknown after two seconds. If the task has already ended,
// the error is [task.CodeConflict].
func (c *Client) Cancel(ctx context.Context, id, reason string) (asked CommandResult, settled bool, err error) {
	return c.ask(ctx, id, "cancel", reason)
}

// Retry retries a failed, cancelled or suspended task; for any other task the error is [task.CodeConflict].
func (c *Client) Retry(ctx context.Context, id, reason string) (asked CommandResult, settled bool, err error) {
	return c.ask(ctx, id, "retry", reason)
}

// Suspend suspends a task until a retry; [task.CodeConflict] if the task has ended or is suspended.
func (c *Client) Suspend(ctx context.Context, id, reason string) (asked CommandResult, settled bool, err error) {
	return c.ask(ctx, id, "suspend", reason)
}

// Rewind starts the next attempt of a task with an earlier checkpoint.
func (c *Client) Rewind(ctx context.Context, id string, to RewindRequest) (asked CommandResult, settled bool, err error) {
	status, err := c.do(ctx, call{method: http.MethodPost, path: item("tasks", id, "rewind"), body: to}, &asked)
	return asked, status == http.StatusOK, err
}

// Fork creates a task that begins with a checkpoint of another one. key is that of [Client.CreateTask].
func (c *Client) Fork(ctx context.Context, id string, in ForkRequest, key string) (t Task, made bool, err error) {
	status, err := c.do(ctx, call{method: http.MethodPost, path: item("tasks", id, "fork"), header: once(key), body: in}, &t)
	return t, status == http.StatusCreated, err
}

// Judge submits a user's verdict on the work of a task.
func (c *Client) Judge(ctx context.Context, id string, v ReviewRequest) (asked CommandResult, settled bool, err error) {
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

// Events returns the page of a task's events after the cursor, oldest first. An empty cursor is the beginning. If there
// is no event, the server waits up to wait, 30 s at most; zero does not wait.
func (c *Client) Events(ctx context.Context, id, cursor string, wait time.Duration) (TaskEventList, error) {
	q := query("cursor", cursor, "wait", patience(wait))
	return answer[TaskEventList](ctx, c, call{path: item("tasks", id, "events"), query: q})
}

// Diff writes the unified diff of the task's branch; [task.CodeNotFound] if it has no branch yet.
func (c *Client) Diff(ctx context.Context, id string, w io.Writer) error {
	_, err := c.download(ctx, item("tasks", id, "diff"), w)
	return err
}

// Explanation explains the state of a task.
type Explanation = explain.Explanation

// Why returns the explanation of a task's state.
func (c *Client) Why(ctx context.Context, taskID string) (Explanation, error) {
	return answer[Explanation](ctx, c, call{path: item("tasks", taskID, "why")})
}

// SavedWork is one element of GET /api/v1/tasks/{id}/saved-work.
type SavedWork = savedwork.SavedWork

// Work lists the saved work of a task's attempts, the first attempt first.
func (c *Client) Work(ctx context.Context, taskID string) ([]SavedWork, error) {
	return all[SavedWork](ctx, c, item("tasks", taskID, "saved-work"))
}

// WriteWork writes the stored patch or bundle of an attempt's work to w, and returns its length.
func (c *Client) WriteWork(ctx context.Context, taskID string, attempt int, w io.Writer) (int64, error) {
	return c.download(ctx, item("tasks", taskID, "saved-work", strconv.Itoa(attempt)), w)
}

// TranscriptInfo is one element of GET /api/v1/tasks/{id}/transcripts.
type TranscriptInfo = transcript.Info

// TranscriptMark is the response of PUT /api/v1/sandboxes/{id}/transcripts/{run}.
type TranscriptMark = transcript.Mark

// Transcripts lists the transcripts of a task's attempts, oldest attempt first.
func (c *Client) Transcripts(ctx context.Context, taskID string) ([]TranscriptInfo, error) {
	return all[TranscriptInfo](ctx, c, item("tasks", taskID, "transcripts"))
}

// WriteTranscript writes the transcript of one agent session to w.
func (c *Client) WriteTranscript(ctx context.Context, taskID, runID string, w io.Writer) error {
	_, err := c.download(ctx, item("tasks", taskID, "transcripts", runID), w)
	return err
}

// Checkpoint is one element of GET /api/v1/tasks/{id}/checkpoints.
type Checkpoint = checkpoint.Checkpoint

// CheckpointSealed is the part of a checkpoint that omoi-agent sends.
type CheckpointSealed = checkpoint.Sealed

// CheckpointReceived is the response of PUT /api/v1/sandboxes/{id}/checkpoints/{number}/pack.
type CheckpointReceived = checkpoint.Received

// Checkpoints lists the checkpoints of a task, newest first.
func (c *Client) Checkpoints(ctx context.Context, taskID string) ([]Checkpoint, error) {
	return all[Checkpoint](ctx, c, item("tasks", taskID, "checkpoints"))
}

// CheckpointPack writes the Git pack of a checkpoint to w. The pack is thin: it needs the packs of the checkpoints before.
func (c *Client) CheckpointPack(ctx context.Context, taskID, id string, w io.Writer) error {
	_, err := c.download(ctx, item("tasks", taskID, "checkpoints", id, "pack"), w)
	return err
}

// Checkpoint returns one checkpoint of a task. Its ID is <attempt>.<number>, for example 2.14.
func (c *Client) Checkpoint(ctx context.Context, taskID, id string) (Checkpoint, error) {
	return answer[Checkpoint](ctx, c, call{path: item("tasks", taskID, "checkpoints", id)})
}

// Webhook holds the common fields of all GitHub webhooks.
type Webhook struct {
	Action string `json:"action,omitempty" doc:"What happened to the subject of the event, for example completed or submitted. Other fields depend on the event, as GitHub documents them."`
}

// TaskFeedback returns all feedback on the pull request of a task, and what omoi did about it.
func (c *Client) TaskFeedback(ctx context.Context, id string) (feedback.TaskFeedback, error) {
	var story feedback.TaskFeedback
	for cursor := ""; ; cursor = *story.NextCursor {
		path, q := item("tasks", id, "feedback"), query("limit", "500", "cursor", cursor)
		page, err := answer[feedback.TaskFeedback](ctx, c, call{path: path, query: q})
		page.Items = append(story.Items, page.Items...)
		if story = page; err != nil || story.NextCursor == nil {
			return story, err
		}
	}
}

// TypeCheck is the task_type of the tasks that `omoi check` creates. Lists omit such tasks by default.
const TypeCheck = "omoi_check"

// IsCheck reports whether `omoi check` created a task.
func IsCheck(t Task) bool { return t.TaskType == TypeCheck }
