package client

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/omoi-dev/omoi/internal/receipt"
)

// TaskReceipt is the deletion receipt of a task.
type TaskReceipt = receipt.DeletionReceipt

// Receipt returns the deletion receipt of a task.
func (c *Client) Receipt(ctx context.Context, taskID string) (TaskReceipt, error) {
	return answer[TaskReceipt](ctx, c, call{path: item("tasks", taskID, "receipt")})
}

// CreateAccessSessionRequest is the body of POST /api/v1/sandboxes/{id}/access-sessions.
type CreateAccessSessionRequest struct {
	Kind    string `json:"kind" enum:"shell,exec,copy_in,copy_out" doc:"How the operator accesses the sandbox: a shell, one command, or a copy into or out of it."`
	Summary string `json:"summary" maxLength:"4000" doc:"Command or path, for the record; omoi removes what looks like a secret."`
}

// SandboxLabels are the labels of a sandbox at its provider.
type SandboxLabels struct {
	Installation string `json:"installation" doc:"ID of the omoi installation that created the sandbox."`
	TaskID       string `json:"task_id" doc:"Task for whose attempt the sandbox was created."`
	Attempt      int    `json:"attempt" doc:"Number of the attempt for which the sandbox was created, from 1."`
	SandboxID    string `json:"sandbox_id" doc:"ID by which all routes of the API name the sandbox."`
}

// StartedAccessSession locates the sandbox that an operator accesses.
type StartedAccessSession struct {
	AccessSession receipt.AccessSession `json:"access_session" doc:"Recorded access session; its id ends the session."`
	Sandbox       Sandbox               `json:"sandbox" doc:"Sandbox with its provider, provider ID and host."`
	Labels        SandboxLabels         `json:"labels" doc:"Labels of the sandbox at its provider: access only a sandbox that carries all of them."`
}

// EndAccessSessionRequest holds the outcome of an access session.
type EndAccessSessionRequest struct {
	Outcome string `json:"outcome" maxLength:"1000" doc:"How the session ended, for example the exit code; omoi removes what looks like a secret."`
}

// SandboxLog is a piece of a sandbox log.
type SandboxLog struct {
	SandboxID string `json:"sandbox_id" doc:"Sandbox that the path names."`
	First     int64  `json:"first" doc:"Byte offset of the beginning of text; more than after if older bytes are no longer kept."`
	Next      int64  `json:"next" doc:"Byte offset of the end of text: the value of after for the next request."`
	Text      string `json:"text" doc:"At most about 1 MiB of stdout and stderr without secrets; bytes that are not UTF-8 are replaced by U+FFFD."`
	End       int64  `json:"end" doc:"Byte offset of the end of the stored log. If greater than next, more text is stored: request again at once."`
	Ended     bool   `json:"ended" doc:"true: the log is complete, and text reaches its end."`
	Stale     bool   `json:"stale" doc:"true: no worker that reaches the sandbox answered in time, so newer output may exist."`
}

// Installation identifies the installation in the labels of its sandboxes.
type Installation struct {
	ID string `json:"id" doc:"UUID in the labels of all sandboxes of this installation."`
}

// Installation returns the installation of the server. It requires the scope admin, and so do access sessions.
func (c *Client) Installation(ctx context.Context) (Installation, error) {
	return answer[Installation](ctx, c, call{path: prefix + "/installation"})
}

// StartAccessSession records that an operator accesses a sandbox, and returns where the sandbox is.
func (c *Client) StartAccessSession(
	ctx context.Context, sandboxID string, in CreateAccessSessionRequest,
) (StartedAccessSession, error) {
	return answer[StartedAccessSession](ctx, c, call{
		method: http.MethodPost, path: item("sandboxes", sandboxID, "access-sessions"), body: in,
	})
}

// EndAccessSession records how an access session ended.
func (c *Client) EndAccessSession(ctx context.Context, sandboxID, id, outcome string) error {
	_, err := c.do(ctx, call{
		method: http.MethodPost, path: item("sandboxes", sandboxID, "access-sessions", id, "end"),
		body: EndAccessSessionRequest{Outcome: outcome},
	}, nil)
	return err
}

// SandboxLog returns the sandbox log after an offset, and waits for new output, 25 s at most.
func (c *Client) SandboxLog(
	ctx context.Context, sandboxID string, after int64, wait time.Duration,
) (SandboxLog, error) {
	q := query("after", strconv.FormatInt(after, 10), "wait", patience(wait))
	return answer[SandboxLog](ctx, c, call{path: item("sandboxes", sandboxID, "log"), query: q})
}
