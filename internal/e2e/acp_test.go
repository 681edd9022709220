package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/devstack"
	"github.com/omoi-dev/omoi/internal/task"
)

// editor is a client of `omoi acp` with the library of the protocol.
type editor struct {
	*rig
	*acp.ClientSideConnection

	cmd   *exec.Cmd
	done  chan struct{}
	input io.WriteCloser
	cwd   string

	mu      sync.Mutex
	lines   bytes.Buffer // standard output
	updates []string
}

// editor starts omoi acp for the scripted agent with the steps.
func (r *rig) editor(cwd string, steps ...string) *editor {
	r.t.Helper()
	return r.editorWith(cwd, `{"steps":[`+strings.Join(steps, ",")+`]}`, "--script")
}

// editorWith starts omoi acp with a file after the other arguments.
func (r *rig) editorWith(cwd, content string, args ...string) *editor {
	r.t.Helper()
	file := filepath.Join(r.t.TempDir(), "settings.json")
	require.NoError(r.t, os.WriteFile(file, []byte(content), 0o600))
	e := &editor{rig: r, cwd: cwd}
	e.cmd = exec.CommandContext(r.t.Context(), r.program(), append(append([]string{"acp"}, args...), file)...)
	env := maps.Clone(r.env)
	delete(env, "OMOI_API_URL") // dev.json has it
	e.cmd.Env, e.cmd.Dir, e.cmd.Stderr = environ(env), r.dir, os.Stderr
	out, err := e.cmd.StdoutPipe()
	require.NoError(r.t, err)
	e.input, err = e.cmd.StdinPipe()
	require.NoError(r.t, err)
	e.done, err = tied(e.cmd)
	require.NoError(r.t, err)
	r.t.Cleanup(e.kill)
	e.ClientSideConnection = acp.NewClientSideConnection(e, e.input, io.TeeReader(out, writerFunc(e.read)))
	got, err := e.Initialize(r.t.Context(), acp.InitializeRequest{ProtocolVersion: acp.ProtocolVersionNumber})
	require.NoError(r.t, err)
	require.EqualValues(r.t, 1, got.ProtocolVersion)
	require.True(r.t, got.AgentCapabilities.LoadSession)
	require.False(r.t, got.AgentCapabilities.PromptCapabilities.Image)
	return e
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func (e *editor) read(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lines.Write(p)
}

// kill ends omoi acp by SIGKILL. Each line that it wrote must be a message of the protocol.
func (e *editor) kill() {
	_ = e.cmd.Process.Kill()
	<-e.done
	e.mu.Lock()
	defer e.mu.Unlock()
	for line := range strings.Lines(e.lines.String()) {
		if strings.HasSuffix(line, "\n") {
			var message struct {
				Version string `json:"jsonrpc"`
			}
			require.NoError(e.t, json.Unmarshal([]byte(line), &message), line)
			require.Equal(e.t, "2.0", message.Version, line)
		}
	}
}

func (e *editor) open() acp.SessionId {
	e.t.Helper()
	got, err := e.NewSession(e.t.Context(), acp.NewSessionRequest{Cwd: e.cwd, McpServers: []acp.McpServer{}})
	require.NoError(e.t, err)
	return got.SessionId
}

func (e *editor) load(id acp.SessionId) {
	e.t.Helper()
	_, err := e.LoadSession(e.t.Context(), acp.LoadSessionRequest{SessionId: id, Cwd: e.cwd, McpServers: []acp.McpServer{}})
	require.NoError(e.t, err)
}

// prompt sends a prompt, and returns why its turn ended and what was reported meanwhile.
func (e *editor) prompt(id acp.SessionId, text string) (acp.StopReason, []string) {
	e.t.Helper()
	e.take()
	got, err := e.Prompt(e.t.Context(), acp.PromptRequest{SessionId: id, Prompt: []acp.ContentBlock{acp.TextBlock(text)}})
	require.NoError(e.t, err)
	return got.StopReason, e.take()
}

// later sends a prompt in the background. The channel is closed without a reason if the prompt fails.
func (e *editor) later(id acp.SessionId, text string) <-chan acp.StopReason {
	stop := make(chan acp.StopReason, 1)
	go func() {
		defer close(stop)
		got, err := e.Prompt(context.Background(), acp.PromptRequest{SessionId: id, Prompt: []acp.ContentBlock{acp.TextBlock(text)}})
		if err == nil {
			stop <- got.StopReason
		}
	}()
	return stop
}

// take returns the updates since the last call.
func (e *editor) take() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	got := e.updates
	e.updates = nil
	return got
}

func (e *editor) shows(update string) func() bool {
	return func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return strings.Contains(strings.Join(e.updates, "\n"), update)
	}
}

// SessionUpdate keeps what editors show, without thoughts.
func (e *editor) SessionUpdate(_ context.Context, n acp.SessionNotification) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch u := n.Update; {
	case u.AgentMessageChunk != nil:
		e.updates = append(e.updates, "agent: "+strings.TrimSpace(u.AgentMessageChunk.Content.Text.Text))
	case u.UserMessageChunk != nil:
		e.updates = append(e.updates, "user: "+strings.TrimSpace(u.UserMessageChunk.Content.Text.Text))
	case u.ToolCall != nil:
		e.updates = append(e.updates, tool(u.ToolCall.ToolCallId)+" "+string(u.ToolCall.Kind)+" "+string(u.ToolCall.Status)+" "+u.ToolCall.Title)
	case u.ToolCallUpdate != nil:
		e.updates = append(e.updates, tool(u.ToolCallUpdate.ToolCallId)+" "+string(*u.ToolCallUpdate.Status))
	}
	return nil
}

// tool returns the ID of a call in its sandbox.
func tool(id acp.ToolCallId) string {
	_, call, _ := strings.Cut(string(id), ":")
	return call
}

var errNotOffered = errors.New("the editor offers no files, terminals and permissions")

func (e *editor) ReadTextFile(context.Context, acp.ReadTextFileRequest) (r acp.ReadTextFileResponse, err error) {
	return r, errNotOffered
}

func (e *editor) WriteTextFile(context.Context, acp.WriteTextFileRequest) (r acp.WriteTextFileResponse, err error) {
	return r, errNotOffered
}

func (e *editor) RequestPermission(context.Context, acp.RequestPermissionRequest) (r acp.RequestPermissionResponse, err error) {
	return r, errNotOffered
}

func (e *editor) CreateTerminal(context.Context, acp.CreateTerminalRequest) (r acp.CreateTerminalResponse, err error) {
	return r, errNotOffered
}

func (e *editor) KillTerminal(context.Context, acp.KillTerminalRequest) (r acp.KillTerminalResponse, err error) {
	return r, errNotOffered
}

func (e *editor) TerminalOutput(context.Context, acp.TerminalOutputRequest) (r acp.TerminalOutputResponse, err error) {
	return r, errNotOffered
}

func (e *editor) ReleaseTerminal(context.Context, acp.ReleaseTerminalRequest) (r acp.ReleaseTerminalResponse, err error) {
	return r, errNotOffered
}

func (e *editor) WaitForTerminalExit(context.Context, acp.WaitForTerminalExitRequest) (r acp.WaitForTerminalExitResponse, err error) {
	return r, errNotOffered
}

// TestACP drives tasks as an editor does.
func TestACP(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	r.serves()
	clone := r.clone(r.repo())
	r.asks(clone)
	r.stops(clone)
	r.interrupts(clone)
	r.ignores(clone)
	r.breaks(clone)
	r.leaves(clone)
	r.misspeaks(clone)
	r.noLeaks()
}

// serves writes dev.json, as omoi dev does.
func (r *rig) serves() {
	r.t.Helper()
	require.NoError(r.t, devstack.WriteInfo(r.env["OMOI_HOME"], devstack.Info{APIURL: r.env["OMOI_API_URL"]}))
}

func (r *rig) tasks() int { return r.count(`SELECT count(*) FROM tasks`) }

// asks answers an agent's question, and continues its work after the end by a task that continues the branch.
func (r *rig) asks(cwd string) {
	t := r.t
	t.Helper()
	e := r.editor(cwd, `{"say":"Which color?"}`, `{"wait_message":{"timeout_s":600}}`, `{"bash":"echo {{message}}"}`,
		`{"write":{"path":"color","content":"{{message}}"}}`, `{"commit":"Paint"}`, `{"complete":{"output":"Painted {{message}}."}}`)
	session := e.open()
	stop, got := e.prompt(session, "Paint it")
	require.Equal(t, acp.StopReasonEndTurn, stop)
	require.Equal(t, []string{"agent: Which color?"}, got)

	stop, got = e.prompt(session, "blue")
	require.Equal(t, acp.StopReasonEndTurn, stop)
	require.Contains(t, got, "agent: Painted blue.")
	require.Contains(t, strings.Join(got, "\n"), "execute in_progress Bash echo blue")
	require.Contains(t, got[len(got)-1], "is completed. Branch: ")
	require.Equal(t, 1, r.tasks())

	stop, got = e.prompt(session, "Now red")
	require.Equal(t, acp.StopReasonEndTurn, stop)
	require.Equal(t, []string{"agent: Which color?"}, got)
	require.Equal(t, 2, r.tasks(), "a task that continues the branch")
	_, got = e.prompt(session, "red")
	require.Contains(t, got, "agent: Painted red.")

	e.kill()
	e = r.editor(cwd, `{"say":"another script"}`)
	e.load(session)
	all := strings.Join(e.take(), "\n")
	for _, want := range []string{"user: Paint it", "user: blue", "agent: Painted blue.", "user: Now red", "user: red", "agent: Painted red."} {
		require.Equal(t, 1, strings.Count(all, want), "%s in\n%s", want, all)
	}
}

// stops cancels a turn. The task takes the next prompt.
func (r *rig) stops(cwd string) {
	t := r.t
	t.Helper()
	e := r.editor(cwd, `{"say":"Working"}`, `{"bash":"case '{{feedback}}' in *again*) echo told;; *) sleep 600;; esac"}`)
	session := e.open()
	before := r.tasks()
	stop := e.later(session, "Work")
	r.eventually("the command runs", e.shows("in_progress"))
	require.NoError(t, e.Cancel(t.Context(), acp.CancelNotification{SessionId: session}))
	require.Equal(t, acp.StopReasonCancelled, <-stop)
	got := strings.Join(e.take(), "\n")
	require.Contains(t, got, " failed", "the command is shown as ended")

	reason, updates := e.prompt(session, "Do it again")
	require.Equal(t, acp.StopReasonEndTurn, reason)
	require.Contains(t, updates[len(updates)-1], "is completed")
	require.Equal(t, before+1, r.tasks(), "the same task")
}

// waitsForMore works until an interrupt, and then commits what the next message says.
const waitsForMore = `if [ -e began ]; then read -r m; printf %s "$m" > got; git add -A; git commit -qm got; exit 0; fi
touch began; echo '{"omoi":"event","event_type":"agent.message","event_data":{"content":"Working"}}'; exec sleep 600`

// interrupts cancels a turn of an agent that then waits. The next prompt is a message to the same attempt.
func (r *rig) interrupts(cwd string) {
	t := r.t
	t.Helper()
	config, err := json.Marshal(map[string]any{"command": []string{"sh", "-c", waitsForMore}, "reads_messages": true, "continuous": false})
	require.NoError(t, err)
	e := r.editorWith(cwd, string(config), "--agent", "command", "--execution-config")
	session := e.open()
	stop := e.later(session, "Work")
	r.eventually("the agent works", e.shows("agent: Working"))
	require.NoError(t, e.Cancel(t.Context(), acp.CancelNotification{SessionId: session}))
	require.Equal(t, acp.StopReasonCancelled, <-stop)
	open, err := r.api.Tasks(t.Context(), apiclient.TaskFilter{Group: string(task.GroupNeedsYou)})
	require.NoError(t, err)
	require.Len(t, open.Items, 1, "the task waits for the next prompt")

	reason, updates := e.prompt(session, "Use tabs")
	require.Equal(t, acp.StopReasonEndTurn, reason)
	require.Contains(t, updates[len(updates)-1], "is completed")
	got := r.ends(open.Items[0].ID, task.StatusCompleted)
	require.Equal(t, 1, got.AttemptCount)
	require.Contains(t, r.gitIn(got.Repo, "show", *got.Branch+":got"), "Use tabs")
}

// ignores sends prompts to an agent that reads no messages. Tasks that continue its work get the texts in order.
func (r *rig) ignores(cwd string) {
	t := r.t
	t.Helper()
	e := r.editor(cwd, `{"say":"Working"}`, `{"bash":"until [ -e go ]; do sleep 0.05; done"}`, `{"commit":"Work"}`)
	session, before := e.open(), r.tasks()
	e.later(session, "Work")
	r.eventually("the command runs", e.shows("in_progress"))
	e.later(session, "Then paint")
	r.eventually("a message", r.has(`SELECT count(*) FROM messages WHERE content = 'Then paint' AND state IN ('accepted', 'delivered')`))
	stop := e.later(session, "Then dry it")
	r.eventually("another one", r.has(`SELECT count(*) FROM messages WHERE content = 'Then dry it' AND state IN ('accepted', 'delivered')`))
	r.pass(r.only(), "go")
	require.Equal(t, acp.StopReasonEndTurn, <-stop)
	require.Equal(t, before+3, r.tasks())
	const asked = `strpos(split_part(%[1]s.description, 'What was asked first', 1), %[2]s) > 0 AND %[1]s.status = 'completed'`
	paint, dry := fmt.Sprintf(asked, "paint", "$1"), fmt.Sprintf(asked, "dry", "$2")
	require.Equal(t, 1, r.count(`SELECT count(*) FROM tasks paint JOIN tasks dry ON paint.created_at < dry.created_at WHERE `+paint+` AND `+dry,
		"Then paint", "Then dry it"))
}

// only returns the only running task.
func (r *rig) only() task.Task {
	r.t.Helper()
	open, err := r.api.Tasks(r.t.Context(), apiclient.TaskFilter{Group: string(task.GroupRunning)})
	require.NoError(r.t, err)
	require.Len(r.t, open.Items, 1)
	return open.Items[0]
}

func (r *rig) has(query string) func() bool { return func() bool { return r.count(query) == 1 } }

// breaks kills omoi acp, and then the server, while an agent works.
func (r *rig) breaks(cwd string) {
	t := r.t
	t.Helper()
	say := `{"say":"step %"},{"bash":"until [ -e go% ]; do sleep 0.05; done; echo past %"}`
	steps := []string{`{"bash":"pwd"}`}
	for _, n := range []string{"1", "2", "3"} {
		steps = append(steps, strings.ReplaceAll(say, "%", n))
	}
	e := r.editor(cwd, steps...)
	session := e.open()
	e.later(session, "Walk")
	r.eventually("step 1", e.shows("agent: step 1"))
	e.kill()

	e = r.editor(cwd, steps...)
	e.load(session)
	require.Equal(t, 1, strings.Count(strings.Join(e.take(), "\n"), "agent: step 1"))
	walked := r.only()
	r.pass(walked, "go1")
	r.eventually("step 2", e.shows("agent: step 2"))
	require.NoError(t, devstack.RetireInfo(r.env["OMOI_HOME"])) // as omoi dev does when it stops
	r.kill("api")
	r.pass(walked, "go2")
	r.startAPI()
	r.eventually("step 3", e.shows("agent: step 3"))
	r.serves()
	r.pass(walked, "go3")
	r.eventually("the end", e.shows("is completed"))
	got := e.take()
	require.Equal(t, []string{"agent: step 2", "agent: step 3"}, matching(got, "agent: step"))
	for _, id := range []string{"toolu_0002", "toolu_0003", "toolu_0004"} { // toolu_0002 began before the load
		require.Len(t, matching(got, id+" completed"), 1)
	}
}

// leaves closes the editor just after a prompt. The conversation has the task.
func (r *rig) leaves(cwd string) {
	t := r.t
	t.Helper()
	e := r.editor(cwd, `{"say":"hello"}`)
	session, before := e.open(), r.tasks()
	_, err := fmt.Fprintf(e.input, `{"jsonrpc":"2.0","id":99,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"Leave"}]}}`+"\n", session)
	require.NoError(t, err)
	require.NoError(t, e.input.Close())
	<-e.done
	require.Equal(t, before+1, r.tasks())
	e = r.editor(cwd, `{"say":"hello"}`)
	e.load(session)
	r.eventually("the end", e.shows("is completed"))
	require.Len(t, matching(e.take(), "user: Leave"), 1)
	require.Equal(t, before+1, r.tasks())
}

// matching returns the updates that contain a text.
func matching(updates []string, text string) []string {
	return slices.DeleteFunc(slices.Clone(updates), func(u string) bool { return !strings.Contains(u, text) })
}

// pass creates a file in the workspace of a running task.
func (r *rig) pass(t task.Task, name string) {
	r.t.Helper()
	file := filepath.Join(r.env["OMOI_SANDBOX_DIR"], task.SandboxNamePrefix+*t.SandboxID, "ws", name)
	require.NoError(r.t, os.WriteFile(file, nil, 0o644))
}

// misspeaks sends lines that are not messages, unknown methods and wrong parameters.
func (r *rig) misspeaks(cwd string) {
	t := r.t
	t.Helper()
	e := r.editor(cwd, `{"say":"hello"}`)
	for _, line := range []string{"garbage", "{", "[]", "\xff\xfe", `{"jsonrpc":"2.0","method":"unknown/notification"}`, `{"jsonrpc":"2.0","id":7,"result":{}}`, ""} {
		_, err := io.WriteString(e.input, line+"\n")
		require.NoError(t, err)
	}
	_, err := e.SetSessionMode(t.Context(), acp.SetSessionModeRequest{SessionId: "x", ModeId: "y"})
	require.ErrorContains(t, err, "method not found")
	refused, ok := errors.AsType[*acp.RequestError](err)
	require.True(t, ok)
	require.Equal(t, -32601, refused.Code)
	_, err = e.Prompt(t.Context(), acp.PromptRequest{SessionId: "../x", Prompt: []acp.ContentBlock{acp.TextBlock("hi")}})
	require.ErrorContains(t, err, "Unknown session. Next: ")
	_, err = e.LoadSession(t.Context(), acp.LoadSessionRequest{SessionId: "../x", Cwd: cwd, McpServers: []acp.McpServer{}})
	require.ErrorContains(t, err, "Unknown session. Next: ")
	_, err = e.LoadSession(t.Context(), acp.LoadSessionRequest{SessionId: "APP-999", Cwd: cwd, McpServers: []acp.McpServer{}})
	require.ErrorContains(t, err, "Next: omoi ps")
	e.cwd = t.TempDir()
	_, err = e.Prompt(t.Context(), acp.PromptRequest{SessionId: e.open(), Prompt: []acp.ContentBlock{acp.TextBlock("hi")}})
	require.ErrorContains(t, err, "not in a Git repository")
	e.cwd = cwd
	stop, got := e.prompt(e.open(), "Say hello")
	require.Equal(t, acp.StopReasonEndTurn, stop)
	require.Contains(t, got, "agent: hello")
	require.NoError(t, e.input.Close())
	<-e.done
	require.Zero(t, e.cmd.ProcessState.ExitCode())
}
