package openhands

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// Names of tools.
const (
	toolTerminal = "terminal"
	toolEditor   = "file_editor"
	ToolFinish   = "finish"
	ToolThink    = "think"
)

// Status is the execution status of a conversation.
type Status string

// Values of Status. After [Client.Run] the former one can be read for a moment.
const (
	StatusIdle     Status = "idle"
	StatusRunning  Status = "running"
	StatusPaused   Status = "paused"
	StatusWaiting  Status = "waiting_for_confirmation"
	StatusFinished Status = "finished"
	StatusError    Status = "error"
	StatusStuck    Status = "stuck"
)

// Conversation is the state of a conversation.
type Conversation struct {
	ID     string `json:"id"`
	Status Status `json:"execution_status"`
	Model  string `json:"current_model_id"`
	Stats  struct {
		ByUsage map[string]Metrics `json:"usage_to_metrics"`
	} `json:"stats"`
}

// Metrics are the cost and the tokens of the requests to a model.
type Metrics struct {
	Cost   float64 `json:"accumulated_cost"`
	Tokens struct {
		Prompt     float64 `json:"prompt_tokens"`
		Completion float64 `json:"completion_tokens"`
		CacheRead  float64 `json:"cache_read_tokens"`
		CacheWrite float64 `json:"cache_write_tokens"`
	} `json:"accumulated_token_usage"`
}

// Used returns the sum of all metrics.
func (c Conversation) Used() (sum Metrics) {
	for _, m := range c.Stats.ByUsage {
		sum.Cost += m.Cost
		sum.Tokens.Prompt += m.Tokens.Prompt
		sum.Tokens.Completion += m.Tokens.Completion
		sum.Tokens.CacheRead += m.Tokens.CacheRead
		sum.Tokens.CacheWrite += m.Tokens.CacheWrite
	}
	return sum
}

// Model is how a conversation reaches its model.
type Model struct {
	Name string // as LiteLLM names it, for example openai/gpt-4o
	Key  string
	Base string // address; empty: that of the provider
}

func (m Model) settings() map[string]any {
	llm := map[string]any{"model": m.Name, "usage_id": "omoi", "stream": false, "num_retries": modelRetries}
	if m.Key != "" {
		llm["api_key"] = m.Key
	}
	if m.Base != "" {
		llm["base_url"] = m.Base
	}
	return llm
}

// modelRetries is how often the server repeats a request to the model, with waits of 8 s and more. It reports none of them.
const modelRetries = 2

// Create creates a conversation that works in a folder of the server's disk, without a message. An existing one with the ID is a
// success, and stays as it is. [task.CodeExhausted]: the server allows no further conversation at present.
func (c *Client) Create(ctx context.Context, id, dir string, model Model) (now Conversation, err error) {
	return now, c.ask(ctx, call{method: http.MethodPost, path: "/api/conversations", timeout: slowTimeout, body: map[string]any{
		"conversation_id": id, "workspace": map[string]any{"kind": "LocalWorkspace", "working_dir": dir}, "autotitle": false,
		"confirmation_policy": map[string]any{"kind": "NeverConfirm"},
		"agent": map[string]any{
			"kind": "Agent", "llm": model.settings(),
			"tools": []any{map[string]any{"name": toolTerminal, "params": map[string]any{}}, map[string]any{"name": toolEditor, "params": map[string]any{}}},
		},
	}}, &now)
}

// Get returns the state of a conversation.
func (c *Client) Get(ctx context.Context, id string) (now Conversation, err error) {
	return now, c.ask(ctx, call{method: http.MethodGet, path: conversation(id)}, &now)
}

// Say adds a user's message. The server runs the conversation then, if it does not yet; [task.CodeExhausted]: the message is saved and the
// conversation does not run. A repeated message is another message: see [Client.Heard].
func (c *Client) Say(ctx context.Context, id, text string) error {
	return c.do(ctx, call{method: http.MethodPost, path: conversation(id) + "/events", timeout: slowTimeout, body: map[string]any{
		"role": "user", "content": []any{map[string]any{"type": "text", "text": text}}, "run": true,
	}})
}

// Heard reports whether a user's message with a text is in the conversation.
func (c *Client) Heard(ctx context.Context, id, text string) (bool, error) {
	var page Page
	err := c.ask(ctx, call{method: http.MethodGet, path: conversation(id) + "/events/search", query: url.Values{
		"source": {"user"}, "body": {text}, "limit": {"1"},
	}}, &page)
	return len(page.Items) > 0, err
}

// Run runs a conversation that has stopped. A running one is a success. Without any message, Run would start the model.
func (c *Client) Run(ctx context.Context, id string) error {
	err := c.do(ctx, call{method: http.MethodPost, path: conversation(id) + "/run", timeout: slowTimeout})
	if task.CodeOf(err) == task.CodeConflict {
		return nil
	}
	return err
}

// Interrupt stops the tool or the request to the model that runs.
func (c *Client) Interrupt(ctx context.Context, id string) error {
	return c.do(ctx, call{method: http.MethodPost, path: conversation(id) + "/interrupt", timeout: slowTimeout})
}

// Delete deletes a conversation, but not its folder. One that does not exist is a success.
func (c *Client) Delete(ctx context.Context, id string) error {
	err := c.do(ctx, call{method: http.MethodDelete, path: conversation(id), timeout: slowTimeout})
	if task.CodeOf(err) == task.CodeNotFound {
		return nil
	}
	return err
}

// Discard deletes a conversation with what it runs, and reads back that it is gone. Discard repeats that until ctx ends while the server
// gives no answer.
func (c *Client) Discard(ctx context.Context, id string) error {
	for {
		err := c.discard(ctx, id)
		switch task.CodeOf(err) {
		case task.CodeUnavailable, task.CodeExhausted, task.CodeConflict:
		default: // also nil
			return err
		}
		if wait.For(ctx, discardEvery) != nil {
			return err
		}
	}
}

// Times of [Client.Discard].
const (
	discardEvery = time.Second
	restartWait  = time.Minute // after its start, a server may not know yet what it has stored
)

func (c *Client) discard(ctx context.Context, id string) error {
	if task.CodeOf(c.Interrupt(ctx, id)) == task.CodeNotFound {
		info, err := c.Info(ctx)
		if err == nil && info.Uptime < restartWait.Seconds() {
			err = task.Errorf(task.CodeUnavailable, "The OpenHands server has started a moment ago, and may not have read its conversations.")
		}
		return err
	}
	if err := c.Delete(ctx, id); err != nil { // also of a conversation that could not be interrupted
		return err
	}
	_, err := c.Get(ctx, id)
	if task.CodeOf(err) == task.CodeNotFound {
		return nil
	}
	return cmp.Or(err, error(task.Errorf(task.CodeUnavailable, "The OpenHands server still has the conversation.")))
}

func conversation(id string) string { return "/api/conversations/" + url.PathEscape(id) }

// ConversationID returns the ID of the conversation in a sandbox.
func ConversationID(sandbox string) string { return task.DerivedID("openhands", sandbox) }
