package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

func (s *server) addActions(m *mcp.Server) {
	add(s, m, changing("run_task", "Create a task", "Create a task: an agent works on the text in a sandbox, and omoi publishes its branch and pull request. "+
		"The answer comes at once, with the key of the task.", false), s.runTask)
	addText(s, m, changing("send_message", "Send a message to an agent", "Send a message to the running agent of a task. The result is its delivery status.", false), sendMessage)
	addText(s, m, changing("answer", "Answer a question", "Answer the open question of a task's agent. The first answer counts. A suspended task resumes.", false), answer)
	addText(s, m, changing("cancel_task", "Cancel a task", "Cancel a task: its agent ends, and omoi saves its work.", true), cancelTask)
	addText(s, m, changing("retry_task", "Retry a task", "Retry a failed or cancelled task, or resume a suspended one. The next attempt continues on the same branch.",
		false), retryTask)
}

type runArgs struct {
	awaited

	Text           string         `json:"text" jsonschema:"instructions for the agent"`
	Repo           string         `json:"repo,omitempty" jsonschema:"owner/name or address of a repository on GitHub, or absolute path of a local one"`
	Project        string         `json:"project,omitempty" jsonschema:"key or ID of a project, instead of repo"`
	Title          string         `json:"title,omitempty" jsonschema:"one line; default: the beginning of text"`
	Agent          string         `json:"agent,omitempty" jsonschema:"agent that does the work, for example claude or codex; default: that of the server"`
	Execution      map[string]any `json:"execution_config,omitempty" jsonschema:"options of the task, for example test_command, setup and script"`
	BudgetUSD      float64        `json:"budget_usd,omitempty" jsonschema:"most US dollars that the task may cost; default: no limit"`
	IdempotencyKey string         `json:"idempotency_key,omitempty" jsonschema:"calls with the same key create one task; repeat it if an answer was lost"`
}

func (s *server) runTask(ctx context.Context, c *call, in runArgs) (shown, error) {
	if err := in.check(); err != nil {
		return shown{}, err
	}
	want := client.CreateTaskRequest{Description: in.Text, Repo: in.Repo, ProjectID: in.Project, Title: in.Title, Agent: in.Agent}
	if in.BudgetUSD != 0 {
		want.Budget = &client.Budget{USD: in.BudgetUSD}
	}
	if in.Execution != nil {
		config, err := json.Marshal(in.Execution)
		if err != nil {
			return shown{}, err
		}
		want.Execution = config
	}
	if want.Repo == "" && want.ProjectID == "" && s.Repo != nil {
		var err error
		if want.Repo, err = s.Repo(ctx); err != nil {
			return shown{}, err
		}
	}
	t, _, err := c.api.CreateTask(ctx, want, cmp.Or(in.IdempotencyKey, task.NewID()))
	if err != nil || in.WaitSeconds == 0 {
		return show(t), err
	}
	t, err = c.await(ctx, t.ID, in.awaited)
	return show(t), err
}

type sendArgs struct {
	Task           string `json:"task" jsonschema:"key or ID of the task"`
	Text           string `json:"text" jsonschema:"message for the agent"`
	Interrupt      bool   `json:"interrupt,omitempty" jsonschema:"interrupt the current turn of the agent"`
	IdempotencyKey string `json:"idempotency_key,omitempty" jsonschema:"calls with the same key send one message; repeat it if an answer was lost"`
}

func sendMessage(ctx context.Context, c *call, in sendArgs) (string, error) {
	t, err := c.api.Task(ctx, in.Task)
	if err != nil {
		return "", err
	}
	want := client.CreateMessageRequest{Content: in.Text}
	if in.Interrupt {
		want.Type = client.MessageInterrupt
	}
	queued, err := c.api.SendMessage(ctx, cmp.Or(task.Deref(t.SandboxID), t.ID), want, cmp.Or(in.IdempotencyKey, task.NewID()))
	if err != nil {
		return "", err
	}
	m, err := c.api.Message(ctx, queued.MessageID, 0)
	return fmt.Sprintf("Message %s: %s. Next: logs of task %s, for the answer of the agent.", queued.MessageID, m.State, in.Task), err
}

type answerArgs struct {
	Task string `json:"task" jsonschema:"key or ID of the task"`
	Text string `json:"text" jsonschema:"the answer: one of the options, or any text"`
}

func answer(ctx context.Context, c *call, in answerArgs) (string, error) {
	t, err := c.api.Task(ctx, in.Task)
	if err != nil {
		return "", err
	}
	q, err := c.api.AnswerTask(ctx, t, in.Text)
	if closed, ok := client.ClosedQuestion(err); ok && closed.Answer != "" {
		return "", fmt.Errorf("the question is answered already: %s", closed.Answer)
	}
	return fmt.Sprintf("Answered: %s Next: show_task.", q.Text), err
}

type endArgs struct {
	Task   string `json:"task" jsonschema:"key or ID of the task"`
	Reason string `json:"reason,omitempty" jsonschema:"why, for the record"`
}

func cancelTask(ctx context.Context, c *call, in endArgs) (string, error) {
	asked, settled, err := c.api.Cancel(ctx, in.Task, in.Reason)
	return commandText(in.Task, "Cancel", asked, settled), err
}

func retryTask(ctx context.Context, c *call, in endArgs) (string, error) {
	asked, settled, err := c.api.Retry(ctx, in.Task, in.Reason)
	return commandText(in.Task, "Retry", asked, settled), err
}

func commandText(ref, what string, asked client.CommandResult, settled bool) string {
	state := "accepted"
	if settled {
		state = string(asked.Command.State)
	}
	return fmt.Sprintf("%s of task %s: %s. The task is %s. Next: show_task.", what, ref, state, asked.Task.Status)
}
