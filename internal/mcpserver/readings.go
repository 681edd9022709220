package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/event"
)

// maxText is the most bytes of one text: a model reads at most about 25,000 tokens of the answer of a tool.
const maxText = 60_000

func (s *server) addReadings(m *mcp.Server) {
	add(s, m, readOnly("list_tasks", "List tasks", "List tasks, newest first."), listTasks)
	add(s, m, readOnly("show_task", "Show a task", "Show the state of a task; with wait_seconds, wait until it has ended or needs a user."), showTask)
	add(s, m, readOnly("budget", "Show a budget", "Show the budget of a task and what the task has used of it."), budget)
	addText(s, m, readOnly("why", "Explain a task's state", "Explain in one sentence why a task waits, runs or has failed, with its evidence."), why)
	addText(s, m, readOnly("logs", "Show a task's events", "Show the events of a task, one line each. The last line has the cursor of the next call."), logs)
	addText(s, m, readOnly("diff", "Show a task's changes", "Show what a task has changed, as a unified diff."), diff)
}

type listArgs struct {
	Group string `json:"group,omitempty" jsonschema:"needs_you, running, checking, waiting, done, failed or cancelled; default: all"`
	Text  string `json:"text,omitempty" jsonschema:"part of a title, key, branch or repository"`
	Limit int    `json:"limit,omitempty" jsonschema:"1 to 100; default 20"`
}

type taskList struct {
	Tasks []shown `json:"tasks"`
	More  bool    `json:"more" jsonschema:"true: there are more tasks than limit"`
}

func listTasks(ctx context.Context, c *call, in listArgs) (taskList, error) {
	if in.Limit <= 0 {
		in.Limit = 20
	}
	page, err := c.api.Tasks(ctx, client.TaskFilter{Group: in.Group, Text: in.Text, Limit: min(in.Limit, 100)})
	list := taskList{Tasks: []shown{}, More: page.NextCursor != nil}
	for _, t := range page.Items {
		one := show(t)
		one.Answer = ""
		list.Tasks = append(list.Tasks, one)
	}
	return list, err
}

type showArgs struct {
	awaited

	Task string `json:"task" jsonschema:"key or ID of the task"`
}

func showTask(ctx context.Context, c *call, in showArgs) (shown, error) {
	if err := in.check(); err != nil {
		return shown{}, err
	}
	t, err := c.await(ctx, in.Task, in.awaited)
	return show(t), err
}

type taskArgs struct {
	Task string `json:"task" jsonschema:"key or ID of the task"`
}

func budget(ctx context.Context, c *call, in taskArgs) (client.BudgetUsage, error) {
	return c.api.TaskBudget(ctx, in.Task)
}

func why(ctx context.Context, c *call, in taskArgs) (string, error) {
	e, err := c.api.Why(ctx, in.Task)
	if err != nil {
		return "", err
	}
	text := &strings.Builder{}
	fmt.Fprintf(text, "%s: %s\n", e.State, e.Why)
	for _, one := range e.Evidence {
		fmt.Fprintf(text, "event %d of attempt %d, %s: %s\n", one.Sequence, one.Attempt, one.Type, render.OneLine(one.Message, 300))
	}
	if d := e.Diagnosis; d != nil {
		fmt.Fprintf(text, "Diagnosis: %s Proposed: %s\n", d.Summary, d.Proposal)
	}
	fmt.Fprintf(text, "Command of a user: %s\n", e.Next)
	return text.String(), nil
}

type logsArgs struct {
	Task  string `json:"task" jsonschema:"key or ID of the task"`
	After string `json:"after,omitempty" jsonschema:"cursor of the call before; default: from the first event"`
}

func logs(ctx context.Context, c *call, in logsArgs) (string, error) {
	t, err := c.api.Task(ctx, in.Task)
	if err != nil {
		return "", err
	}
	page, err := c.api.Events(ctx, t.ID, in.After, 0)
	if err != nil {
		return "", err
	}
	text, lines := &strings.Builder{}, &render.Lines{Start: t.CreatedAt}
	for _, e := range page.Items {
		for _, line := range lines.Event(e) {
			fmt.Fprintln(text, line)
		}
	}
	if page.NextCursor == nil {
		fmt.Fprintf(text, "The task is %s. These are its last events.\n", page.TaskStatus)
	} else {
		fmt.Fprintf(text, "The task is %s. Next: logs with after %s\n", page.TaskStatus, *page.NextCursor)
	}
	return text.String(), nil
}

func diff(ctx context.Context, c *call, in taskArgs) (string, error) {
	var text head
	if err := c.api.Diff(ctx, in.Task, &text); err != nil && !text.cut {
		return "", err
	}
	if text.Len() == 0 {
		return "The task has changed nothing yet.", nil
	}
	return text.String(), nil
}

// head keeps the first bytes of what is written to it, and then fails, which ends the download.
type head struct {
	bytes.Buffer

	cut bool
}

func (h *head) Write(p []byte) (int, error) {
	n, _ := h.Buffer.Write(p[:min(len(p), maxText-h.Len())])
	if n < len(p) {
		h.cut = true
		return n, io.ErrShortWrite
	}
	return n, nil
}

func (h *head) String() string {
	text := strings.ToValidUTF8(h.Buffer.String(), "")
	if h.cut {
		text += fmt.Sprintf("\n[cut after %d bytes]", maxText)
	}
	return text
}

// outputOf returns the final output that an agent reported.
func outputOf(t client.Task) string {
	result := event.Read[struct {
		Output json.RawMessage `json:"output"`
	}](t.Result)
	text := ""
	_ = json.Unmarshal(result.Output, &text) // other forms than a text are left out
	return render.Cut(text, maxText/10)
}
