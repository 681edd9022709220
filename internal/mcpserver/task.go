package mcpserver

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// maxWait is the longest wait of one call, in seconds: some clients end a call after 60 s.
const maxWait = 50

// shown is a task as a model sees it.
type shown struct {
	Task        string `json:"task" jsonschema:"key of the task: pass it as task to the other tools"`
	Title       string `json:"title"`
	Status      string `json:"status" jsonschema:"pending, assigned, running, pending_validation, validating, needs_revision, completed, failed or cancelled"`
	Ended       bool   `json:"ended" jsonschema:"true: the status is completed, failed or cancelled"`
	Why         string `json:"why" jsonschema:"one sentence: what the task does or waits for, or how it ended"`
	Agent       string `json:"agent"`
	Attempts    int    `json:"attempts" jsonschema:"number of the newest attempt; 0: none started"`
	Branch      string `json:"branch,omitempty" jsonschema:"branch that holds the work"`
	PullRequest string `json:"pull_request,omitempty" jsonschema:"address of the pull request"`
	Answer      string `json:"answer,omitempty" jsonschema:"final output of the agent"`
	Question    *asked `json:"question,omitempty" jsonschema:"what the agent asks: reply by answer"`
	Next        string `json:"next" jsonschema:"which tool to call next"`
}

// asked is an open question of an agent.
type asked struct {
	Text    string   `json:"text"`
	Options []string `json:"options,omitempty" jsonschema:"proposed answers; another text is an answer too"`
}

func show(t client.Task) shown {
	out := shown{
		Task: cmp.Or(t.Key, t.ID), Title: t.Title, Status: string(t.Status), Ended: t.Status.Final(), Why: t.Why, Agent: t.Agent,
		Attempts: t.AttemptCount, Branch: task.Deref(t.Branch), PullRequest: task.Deref(t.PullURL), Answer: outputOf(t), Next: nextOf(t),
	}
	if q := t.Question; q != nil {
		out.Question = &asked{q.Text, q.Options}
	}
	return out
}

// nextOf names the tool that a model usually calls next.
func nextOf(t client.Task) string {
	switch {
	case t.Status == task.StatusCompleted:
		return "diff"
	case t.Question != nil:
		return "answer"
	case t.Status.Final():
		return "why, then retry_task"
	case t.Group == task.GroupNeedsYou:
		return "why, then send_message or retry_task"
	}
	return fmt.Sprintf("show_task with wait_seconds %d", maxWait)
}

// awaited are the arguments of a tool that may wait for the end of a task.
type awaited struct {
	WaitSeconds int `json:"wait_seconds,omitempty" jsonschema:"wait up to so many seconds, 0 to 50, until the task has ended or needs a user; default 0"`
}

func (a awaited) check() error {
	if a.WaitSeconds < 0 || a.WaitSeconds > maxWait {
		return task.Errorf(task.CodeInvalid, "Invalid wait_seconds %d: must be 0 to %d.", a.WaitSeconds, maxWait)
	}
	return nil
}

// await returns a task as soon as it has ended or needs a user, or after the wait. It reports progress each second.
func (c *call) await(ctx context.Context, id string, of awaited) (client.Task, error) {
	end := time.Now().Add(time.Duration(of.WaitSeconds) * time.Second)
	for seconds := 1; ; seconds++ {
		t, err := c.api.Task(ctx, id)
		if err != nil || t.Status.Final() || t.Question != nil || t.Group == task.GroupNeedsYou || !time.Now().Before(end) {
			return t, err
		}
		select {
		case <-ctx.Done():
			return t, ctx.Err()
		case <-time.After(min(time.Second, time.Until(end))):
		}
		c.progress(ctx, seconds, of.WaitSeconds, t.Why)
	}
}

// progress reports that a call waits. A client that sent no token for it gets none.
func (c *call) progress(ctx context.Context, seconds, of int, text string) {
	token := c.req.Params.GetProgressToken()
	if token == nil {
		return
	}
	_ = c.req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
		ProgressToken: token, Progress: float64(seconds), Total: float64(of), Message: text,
	})
}
