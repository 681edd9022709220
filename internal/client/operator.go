package client

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/omoi-dev/omoi/internal/receipt"
)

// TaskReceipt proves what became of the sandboxes of a task.
type TaskReceipt = receipt.DeletionReceipt

// Receipt returns what became of every sandbox of a task.
func (c *Client) Receipt(ctx context.Context, taskID string) (TaskReceipt, error) {
	return answer[TaskReceipt](ctx, c, call{path: item("tasks", taskID, "receipt")})
}

// NewVisit is the body of POST /api/v1/sandboxes/{id}/visits.
type NewVisit struct {
	Kind string `json:"kind" enum:"shell,exec,copy_in,copy_out"`
	What string `json:"what" maxLength:"4000" doc:"The command or the path, for those who look at the sandbox later"`
}

// SandboxLabels are those under which a provider knows a sandbox.
type SandboxLabels struct {
	Installation string `json:"installation"`
	TaskID       string `json:"task_id"`
	Attempt      int    `json:"attempt"`
	SandboxID    string `json:"sandbox_id"`
}

// BegunVisit says where the sandbox is that a person goes into.
type BegunVisit struct {
	Visit   receipt.AccessSession `json:"visit"`
	Sandbox Sandbox               `json:"sandbox"`
	Labels  SandboxLabels         `json:"labels"`
}

// VisitEnd is how a visit ended.
type VisitEnd struct {
	Outcome string `json:"outcome" maxLength:"1000"`
}

// SandboxLog is a stretch of a sandbox's own log.
type SandboxLog struct {
	SandboxID string `json:"sandbox_id"`
	First     int64  `json:"first"` // where the text begins, in bytes; more than was asked for: what lies before is not kept
	Next      int64  `json:"next"`  // ask on with it as after
	Text      string `json:"text"`  // without secrets; what is no UTF-8 is replaced
	End       int64  `json:"end"`   // how far it went when it was asked for
	Ended     bool   `json:"ended"` // nothing will come after it
	Stale     bool   `json:"stale"` // no worker that can reach the sandbox has looked now
}

// Installation is what the labels of an installation's sandboxes say.
type Installation struct {
	ID string `json:"id"`
}

// Installation returns the server's own; it needs the scope admin, and so do visits.
func (c *Client) Installation(ctx context.Context) (Installation, error) {
	return answer[Installation](ctx, c, call{path: prefix + "/installation"})
}

// BeginVisit writes down that a person goes into a sandbox, and returns where it is.
func (c *Client) BeginVisit(ctx context.Context, sandboxID string, in NewVisit) (BegunVisit, error) {
	return answer[BegunVisit](ctx, c, call{
		method: http.MethodPost, path: item("sandboxes", sandboxID, "visits"), body: in,
	})
}

// EndVisit writes down how it ended.
func (c *Client) EndVisit(ctx context.Context, sandboxID, visitID, outcome string) error {
	_, err := c.do(ctx, call{
		method: http.MethodPost, path: item("sandboxes", sandboxID, "visits", visitID, "end"),
		body: VisitEnd{Outcome: outcome},
	}, nil)
	return err
}

// SandboxLog returns what a sandbox's agent printed behind after, and waits for it if there is
// nothing, 25 s at most.
func (c *Client) SandboxLog(
	ctx context.Context, sandboxID string, after int64, wait time.Duration,
) (SandboxLog, error) {
	q := query("after", strconv.FormatInt(after, 10), "wait", patience(wait))
	return answer[SandboxLog](ctx, c, call{path: item("sandboxes", sandboxID, "log"), query: q})
}
