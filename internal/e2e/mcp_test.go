package e2e_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
	claudetest "github.com/omoi-dev/omoi/internal/testkit/claude"
	modeltest "github.com/omoi-dev/omoi/internal/testkit/model"
)

// mcpClient is a client with the library of the protocol.
type mcpClient struct {
	*rig
	*mcp.ClientSession

	cmd *exec.Cmd // omoi mcp; nil: the route /mcp
}

func (r *rig) mcpBy(transport mcp.Transport, cmd *exec.Cmd) *mcpClient {
	r.t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(r.t.Context(), transport, nil)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = session.Close() })
	return &mcpClient{r, session, cmd}
}

// mcpByStdio starts omoi mcp in a folder.
func (r *rig) mcpByStdio(dir string) *mcpClient {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), r.program(), "mcp")
	cmd.Env, cmd.Dir, cmd.Stderr = environ(r.env), dir, os.Stderr
	return r.mcpBy(&mcp.CommandTransport{Command: cmd}, cmd)
}

func (r *rig) mcpByHTTP() *mcpClient {
	r.t.Helper()
	return r.mcpBy(&mcp.StreamableClientTransport{Endpoint: r.env["OMOI_API_URL"] + "/mcp", DisableStandaloneSSE: true}, nil)
}

// says calls a tool and returns its text, and whether it is an error.
func (c *mcpClient) says(tool string, arguments map[string]any) (string, bool) {
	c.t.Helper()
	got, err := c.CallTool(c.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	require.NoError(c.t, err)
	require.Len(c.t, got.Content, 1)
	content, ok := got.Content[0].(*mcp.TextContent)
	require.True(c.t, ok)
	return content.Text, got.IsError
}

// tool calls a tool that succeeds, and returns its text.
func (c *mcpClient) tool(name string, arguments map[string]any) string {
	c.t.Helper()
	got, failed := c.says(name, arguments)
	require.False(c.t, failed, got)
	return got
}

// mcpTask is the result of run_task and show_task.
type mcpTask struct {
	Task   string `json:"task"`
	Status string `json:"status"`
	Ended  bool   `json:"ended"`
	Why    string `json:"why"`
	Answer string `json:"answer"`
	Next   string `json:"next"`
}

func (c *mcpClient) taskOf(name string, arguments map[string]any) (t mcpTask) {
	c.t.Helper()
	require.NoError(c.t, json.Unmarshal([]byte(c.tool(name, arguments)), &t))
	return t
}

// scripted are the arguments of run_task for the scripted agent.
func scripted(t *testing.T, more map[string]any, steps ...string) map[string]any {
	t.Helper()
	var execution map[string]any
	require.NoError(t, json.Unmarshal(script(steps...), &execution))
	arguments := map[string]any{"text": "Say hello", "agent": task.AgentScripted, "execution_config": execution}
	maps.Copy(arguments, more)
	return arguments
}

// TestMCP drives tasks by the Model Context Protocol, as a program and by HTTP.
func TestMCP(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	r.serves()
	clone := r.clone(r.repo())
	r.schemas()
	r.wholeTask(r.mcpByStdio(clone), "")
	r.wholeTask(r.mcpByHTTP(), clone)
	r.steered(clone)
	r.answersByMCP(clone)
	r.lostClient(clone)
	r.refusals()
	r.noLeaks()
}

// schemas checks that clients accept all tools: one property without an object as schema makes Claude Code drop them all.
func (r *rig) schemas() {
	r.t.Helper()
	listed, err := r.mcpByHTTP().ListTools(r.t.Context(), nil)
	require.NoError(r.t, err)
	require.Len(r.t, listed.Tools, 11)
	for _, tool := range listed.Tools {
		require.NotEmpty(r.t, tool.Description, tool.Name)
		for _, schema := range []any{tool.InputSchema, tool.OutputSchema} {
			if schema == nil {
				continue
			}
			raw, err := json.Marshal(schema)
			require.NoError(r.t, err)
			var parsed jsonschema.Schema
			require.NoError(r.t, json.Unmarshal(raw, &parsed))
			require.Equal(r.t, "object", parsed.Type, tool.Name)
			var object struct {
				Properties map[string]map[string]any `json:"properties"`
			}
			require.NoError(r.t, json.Unmarshal(raw, &object), "a property of %s is not an object: %s", tool.Name, raw)
		}
	}
}

// wholeTask runs a task from its creation to its receipt. Without a repository it works in that of the folder.
func (r *rig) wholeTask(c *mcpClient, repo string) {
	t := r.t
	t.Helper()
	more := map[string]any{"idempotency_key": "once-" + repo}
	if repo != "" {
		more["repo"] = repo
	}
	arguments := scripted(t, more, `{"say":"Hello."}`, `{"write":{"path":"hello","content":"hi"}}`, `{"commit":"Say hello"}`, `{"complete":{"output":"Said."}}`)
	made := c.taskOf("run_task", arguments)
	require.Equal(t, made.Task, c.taskOf("run_task", arguments).Task, "the same key")
	got := mcpTask{}
	r.eventually("the task ends", func() bool {
		got = c.taskOf("show_task", map[string]any{"task": made.Task, "wait_seconds": 50})
		return got.Ended
	})
	require.Equal(t, "completed", got.Status, got.Why)
	require.Equal(t, "Said.", got.Answer)
	require.Equal(t, "diff", got.Next)
	of := map[string]any{"task": made.Task}
	require.Contains(t, c.tool("diff", of), "+hi")
	require.Contains(t, c.tool("why", of), "completed")
	require.Contains(t, c.tool("budget", of), `"sandbox_s"`)
	require.Contains(t, c.tool("list_tasks", map[string]any{"text": made.Task}), `"task":"`+made.Task+`"`)
	require.Contains(t, c.wholeLog(made.Task), "Hello.")

	receipt, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "omoi://task/" + made.Task + "/receipt"})
	require.NoError(t, err)
	require.Contains(t, receipt.Contents[0].Text, `"sandboxes"`)
	transcript, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "omoi://task/" + made.Task + "/transcript"})
	require.NoError(t, err)
	require.Contains(t, transcript.Contents[0].Text, "Hello.")
	_, err = c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "omoi://task/NO-1/receipt"})
	require.Error(t, err)
}

// wholeLog reads the events of an ended task by the cursors in the last lines.
func (c *mcpClient) wholeLog(of string) (all string) {
	c.t.Helper()
	for after, pages := "", 0; pages < 20; pages++ {
		page := c.tool("logs", map[string]any{"task": of, "after": after})
		all += page
		_, next, more := strings.Cut(page, "Next: logs with after ")
		if !more {
			return all
		}
		after = strings.TrimSpace(next)
	}
	c.t.Error("the log does not end")
	return all
}

// steered answers an agent, cancels and retries.
func (r *rig) steered(repo string) {
	t := r.t
	t.Helper()
	c := r.mcpByHTTP()
	made := c.taskOf("run_task", scripted(t, map[string]any{"repo": repo, "budget_usd": 5}, `{"say":"Which color?"}`,
		`{"wait_message":{"timeout_s":600}}`, `{"say":"Paint it {{message}}"}`, `{"bash":"sleep 600"}`))
	got := mcpTask{}
	r.eventually("the agent waits for a message", func() bool {
		got = c.taskOf("show_task", map[string]any{"task": made.Task, "wait_seconds": 5})
		return strings.HasPrefix(got.Next, "why")
	})
	require.Contains(t, c.tool("send_message", map[string]any{"task": made.Task, "text": "blue"}), "Message ")
	r.eventually("the agent uses the answer", func() bool {
		return strings.Contains(c.tool("logs", map[string]any{"task": made.Task}), "Paint it blue")
	})
	require.Contains(t, c.tool("cancel_task", map[string]any{"task": made.Task, "reason": "enough"}), "Cancel of task")
	ended := r.ends(r.idOfKey(made.Task), task.StatusCancelled)
	require.Contains(t, c.tool("why", map[string]any{"task": made.Task}), "enough")
	require.Contains(t, c.tool("retry_task", map[string]any{"task": made.Task}), "Retry of task")
	r.until(ended.ID, "begins again", func(t task.Task) bool { return t.AttemptCount == 2 })
	c.tool("cancel_task", map[string]any{"task": made.Task})
	r.ends(ended.ID, task.StatusCancelled)
}

// answersByMCP answers the question of an agent.
func (r *rig) answersByMCP(repo string) {
	r.t.Helper()
	c := r.mcpByHTTP()
	made := c.taskOf("run_task", scripted(r.t, map[string]any{"repo": repo}, `{"ask":{"text":"Which color?","options":["blue"]}}`, `{"complete":{"output":"{{message}}"}}`))
	got, of := mcpTask{}, map[string]any{"task": made.Task, "wait_seconds": 5}
	r.eventually("the agent asks", func() bool {
		got = c.taskOf("show_task", of)
		return got.Next == "answer"
	})
	reply := map[string]any{"task": made.Task, "text": "blue"}
	require.Contains(r.t, c.tool("answer", reply), "Which color?")
	r.ends(r.idOfKey(made.Task), task.StatusCompleted)
	require.Equal(r.t, "blue", c.taskOf("show_task", of).Answer)
	refused, failed := c.says("answer", reply)
	require.True(r.t, failed, refused)
}

// idOfKey returns the ID of the task with a key.
func (r *rig) idOfKey(key string) string {
	r.t.Helper()
	t, err := r.api.Task(r.t.Context(), key)
	require.NoError(r.t, err)
	return t.ID
}

// lostClient kills omoi mcp while a call waits. The task continues, and the same key finds it.
func (r *rig) lostClient(dir string) {
	t := r.t
	t.Helper()
	arguments := scripted(t, map[string]any{"idempotency_key": "lost", "wait_seconds": 50}, `{"wait_message":{"timeout_s":600}}`, `{"complete":{"output":"Done."}}`)
	c, before := r.mcpByStdio(dir), r.tasks()
	failed := make(chan error, 1)
	go func() {
		_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "run_task", Arguments: arguments})
		failed <- err
	}()
	r.eventually("the task exists", func() bool { return r.tasks() == before+1 })
	require.NoError(t, c.cmd.Process.Kill())
	<-failed // an answer, if the agent waited already
	delete(arguments, "wait_seconds")
	again := r.mcpByHTTP()
	arguments["repo"] = dir
	made := again.taskOf("run_task", arguments)
	require.Equal(t, before+1, r.tasks())
	again.tool("cancel_task", map[string]any{"task": made.Task})
	r.ends(r.idOfKey(made.Task), task.StatusCancelled)
}

// refusals checks what bad calls answer.
func (r *rig) refusals() {
	t := r.t
	t.Helper()
	c, before := r.mcpByHTTP(), r.tasks()
	for _, call := range []struct {
		tool, want string
		arguments  map[string]any
	}{
		{"run_task", "text", map[string]any{"repo": "/x"}},
		{"run_task", "ticket_id", map[string]any{"text": "Hello"}},
		{"run_task", "wait_seconds", map[string]any{"text": "Hello", "wait_seconds": 51}},
		{"run_task", "additional properties", map[string]any{"text": "Hello", "color": "blue"}},
		{"show_task", "There is no task", map[string]any{"task": "NO-1"}},
		{"send_message", "There is no task", map[string]any{"task": task.NewID(), "text": "Hello"}},
		{"list_tasks", "group", map[string]any{"group": "lost"}},
	} {
		got, failed := c.says(call.tool, call.arguments)
		require.True(t, failed, "%s %v: %s", call.tool, call.arguments, got)
		require.Contains(t, got, call.want)
	}
	require.Equal(t, before, r.tasks())
}

// TestClaude_DrivesATaskByMCP has Claude Code create a task by omoi mcp, wait for its end and read its changes.
func TestClaude_DrivesATaskByMCP(t *testing.T) {
	t.Parallel()
	program := claudetest.Install(t, claudetest.Versions()[1])
	r := newRig(t, nil).up()
	r.serves()
	clone := r.clone(r.repo())
	created := r.omoi("project", "create", "--repo", clone, "--key", "app")
	require.Zero(t, created.code, created.stderr)
	by := func(tool string, arguments map[string]any) []modeltest.Tool {
		return []modeltest.Tool{{Name: "mcp__omoi__" + tool, Input: arguments}}
	}
	model := modeltest.New(
		t, modeltest.Turn{Tools: []modeltest.Tool{{Name: "WaitForMcpServers", Input: map[string]any{}}}}, // the first turn may come before the tools
		modeltest.Turn{Tools: by("run_task", scripted(t, nil, `{"write":{"path":"hello","content":"hi"}}`, `{"commit":"Say hello"}`, `{"complete":{}}`))},
		modeltest.Turn{Tools: by("list_tasks", map[string]any{"limit": 1}), Expect: modeltest.Saying("show_task")},
		modeltest.Turn{Tools: by("show_task", map[string]any{"task": "APP-1", "wait_seconds": 50})},
		modeltest.Turn{Tools: by("diff", map[string]any{"task": "APP-1"}), Expect: modeltest.Saying("completed")},
		modeltest.Turn{Text: "Done.", Expect: modeltest.Saying("+hi")},
	)
	servers := r.file("mcp.json", `{"mcpServers":{"omoi":{"command":"`+r.program()+`","args":["mcp"]}}}`)
	cmd := exec.CommandContext(t.Context(), program, "-p", "Delegate it", "--mcp-config", servers, "--strict-mcp-config", "--allowedTools",
		"WaitForMcpServers,mcp__omoi__run_task,mcp__omoi__list_tasks,mcp__omoi__show_task,mcp__omoi__diff")
	env := maps.Clone(r.env)
	env["ANTHROPIC_BASE_URL"], env["ANTHROPIC_API_KEY"], env["HOME"] = model.URL, plantedModelKey, t.TempDir()
	cmd.Env, cmd.Dir = environ(env), clone
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "Done.")
	require.Equal(t, 1, r.tasks())
	r.noLeaks()
}
