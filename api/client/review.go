package client

import (
	"context"
	"net/http"

	"github.com/omoi-dev/omoi/internal/review"
)

type (
	// Changes is the response of GET /api/v1/tasks/{id}/changes.
	Changes = review.Changes
	// Compared is the part of a response that names both points.
	Compared = review.Compared
	// Point is the files of a task at one moment.
	Point = review.Point
	// FileChange is one file of [Changes].
	FileChange = review.FileChange
	// FileDiff is the response of GET /api/v1/tasks/{id}/changes/diff.
	FileDiff = review.FileDiff
	// Hunk is a place at which a file differs.
	Hunk = review.Hunk
	// CutLine names a long line of a [Hunk].
	CutLine = review.CutLine
	// File is the response of GET /api/v1/tasks/{id}/file.
	File = review.File
	// Comments is the body of POST /api/v1/tasks/{id}/comments.
	Comments = review.Comments
	// Comment is one of [Comments].
	Comment = review.Comment
)

// CommentsResult is the response of POST /api/v1/tasks/{id}/comments.
type CommentsResult struct {
	Delivery   string   `json:"delivery" enum:"message,revision,task" doc:"message: the running agent gets a message; revision: the next attempt of the task gets the comments; task: a new task continues branch and pull request."`
	Text       string   `json:"text" doc:"All comments, as the agent gets them."`
	TaskID     string   `json:"task_id" doc:"Task whose agent gets the comments: with delivery task the new one."`
	SandboxID  string   `json:"sandbox_id" doc:"Sandbox of the agent that gets the message. Empty: no message."`
	MessageID  string   `json:"message_id" doc:"The message, for GET /api/v1/messages/{message_id}. Empty: no message."`
	Command    *Command `json:"command,omitempty" doc:"Receipt of the verdict or retry. Left out: no revision."`
	CommandURL string   `json:"command_url" doc:"Path that returns the command, to poll while its state is accepted. Empty: no revision."`
}

// Changes lists the files of a task that differ between two points: base, latest, an attempt such as 2, or a checkpoint such as 2.14.
// Empty points are base and latest.
func (c *Client) Changes(ctx context.Context, taskID, from, to string) (Changes, error) {
	return answer[Changes](ctx, c, call{path: item("tasks", taskID, "changes"), query: query("from", from, "to", to)})
}

// FileDiffQuery asks for a page of the difference of one file.
type FileDiffQuery struct {
	From, To string // points, as in [Client.Changes]
	Path     string // of the list of changes
	Offset   int    // lines to skip
}

// FileDiff returns a page of the difference of one file.
func (c *Client) FileDiff(ctx context.Context, taskID string, of FileDiffQuery) (FileDiff, error) {
	q := query("from", of.From, "to", of.To, "path", of.Path, "offset", positive(of.Offset))
	return answer[FileDiff](ctx, c, call{path: item("tasks", taskID, "changes", "diff"), query: q})
}

// File returns a piece of the text of a file at a point, from an offset of bytes.
func (c *Client) File(ctx context.Context, taskID, at, path string, offset int) (File, error) {
	q := query("at", at, "path", path, "offset_bytes", positive(offset))
	return answer[File](ctx, c, call{path: item("tasks", taskID, "file"), query: q})
}

// Comment gives comments on the work of a task to its agent; settled is false while a revision is under way. key is that of
// [Client.CreateTask].
func (c *Client) Comment(ctx context.Context, taskID string, in Comments, key string) (result CommentsResult, settled bool, err error) {
	status, err := c.do(ctx, call{method: http.MethodPost, path: item("tasks", taskID, "comments"), header: once(key), body: in}, &result)
	return result, status != http.StatusAccepted, err
}
