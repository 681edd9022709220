package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/spool"
	agenttest "github.com/omoi-dev/omoi/internal/testkit/agent"
)

// binary builds omoi-agent as in a release: static.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "omoi-agent-test-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "omoi-agent")
	cmd := exec.CommandContext(context.Background(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

// seed makes the hosting repository of a box, its bundle and the file of its base commit once, since a copy takes no git process.
var seed = sync.OnceValues(func() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "omoi-agent-seed-"); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(context.Background(), "sh", "-ec", `git init -q -b main host
cd host
echo hello >README
git add -A
git commit -qm first
git branch feature/x
git bundle create -q ../in.bundle feature/x
git rev-parse HEAD >../base`)
	cmd.Dir, cmd.Env = dir, gitEnviron()
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := binary(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	if dir, err := seed(); err == nil {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// box has the folders of a sandbox and a configuration.
type box struct {
	t      *testing.T
	server *agenttest.Server
	cfg    agentconfig.Config
	host   string   // hosting repository
	env    []string // of omoi-agent; nil: that of the test
	inside []string // command that runs omoi-agent; empty: none
	log    *strings.Builder
}

func newBox(t *testing.T, script string) *box {
	t.Helper()
	dir := t.TempDir()
	b := &box{t: t, server: agenttest.New(t), host: filepath.Join(dir, "host")}
	seeded, err := seed()
	require.NoError(t, err)
	require.NoError(t, os.CopyFS(dir, os.DirFS(seeded)))
	base, err := os.ReadFile(filepath.Join(dir, "base"))
	require.NoError(t, err)
	b.cfg = agentconfig.Config{
		Protocol: agentconfig.Protocol, SandboxID: "sbx", TaskID: "task-1", Attempt: 1, APIURL: b.server.URL, Token: "planted-secret",
		Runtime: "scripted", Workspace: filepath.Join(dir, "ws"), Dir: filepath.Join(dir, "omoi"), Title: "Title", Description: "What to do",
		Mode: "implementation", Script: []byte(script), Grace: 30 * time.Second, Heartbeat: time.Hour,
		Repo: &agentconfig.Repo{Branch: "feature/x", Base: strings.TrimSpace(string(base)), Bundle: filepath.Join(dir, "in.bundle"), AuthorName: "Agent", AuthorEmail: "agent@example.invalid"},
	}
	return b.described()
}

func (b *box) git(dir string, args ...string) string {
	b.t.Helper()
	cmd := exec.CommandContext(b.t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = gitEnviron()
	out, err := cmd.CombinedOutput()
	require.NoError(b.t, err, string(out))
	return strings.TrimSpace(string(out))
}

func gitEnviron() []string {
	return append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_CONFIG_GLOBAL=/dev/null")
}

func (b *box) command(args ...string) *exec.Cmd {
	b.t.Helper()
	path, err := binary()
	require.NoError(b.t, err)
	line := slices.Concat(b.inside, []string{path}, args)
	return exec.CommandContext(b.t.Context(), line[0], line[1:]...)
}

// start starts the agent; the returned function waits for its end.
func (b *box) start() (*exec.Cmd, func() *os.ProcessState) {
	b.t.Helper()
	require.NoError(b.t, os.MkdirAll(b.cfg.Dir, 0o755))
	text, err := json.Marshal(b.cfg)
	require.NoError(b.t, err)
	path := filepath.Join(b.cfg.Dir, "agent.json")
	require.NoError(b.t, os.WriteFile(path, text, 0o600))
	cmd := b.command("run", "--config", path)
	var log strings.Builder
	b.log = &log
	cmd.Stdout, cmd.Stderr, cmd.Env = &log, &log, b.env
	require.NoError(b.t, cmd.Start())
	b.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		if b.t.Failed() {
			b.t.Log(log.String())
		}
	})
	return cmd, func() *os.ProcessState {
		_ = cmd.Wait()
		return cmd.ProcessState
	}
}

func (b *box) run() int {
	b.t.Helper()
	_, wait := b.start()
	return wait().ExitCode()
}

func (b *box) collect() agentconfig.Collected {
	b.t.Helper()
	out, err := b.command("collect", "--config", filepath.Join(b.cfg.Dir, "agent.json")).Output()
	require.NoError(b.t, err)
	var got agentconfig.Collected
	require.NoError(b.t, json.Unmarshal(out, &got))
	return got
}

func (b *box) one(eventType string) map[string]any {
	b.t.Helper()
	events := b.server.Of(eventType)
	require.Len(b.t, events, 1, eventType)
	return events[0].Data
}

func bounds(types ...string) []string {
	return append(append([]string{"agent.started"}, types...), "agent.completed", "agent.shutdown")
}

func TestScripted_Events(t *testing.T) {
	t.Parallel()
	tool := []string{"agent.assistant_message", "agent.tool_use", "agent.tool_completed", "agent.tool_result"}
	edit := []string{"agent.assistant_message", "agent.tool_use", "agent.tool_completed", "agent.file_edited", "agent.tool_result"}
	cases := map[string]struct {
		step string
		want []string
		code int
	}{
		"nothing":         {``, bounds(), 0},
		"say":             {`{"say": "hi"}`, bounds("agent.assistant_message", "agent.message"), 0},
		"think":           {`{"think": "hm"}`, bounds("agent.thinking"), 0},
		"write":           {`{"write": {"path": "a/b", "content": "x\n"}}`, bounds(edit...), 0},
		"edit":            {`{"edit": {"path": "README", "old": "hello", "new": "bye"}}`, bounds(edit...), 0},
		"bad edit":        {`{"edit": {"path": "README", "old": "nothing", "new": "bye"}}`, bounds(tool...), 0},
		"outside":         {`{"write": {"path": "../x", "content": ""}}`, bounds(tool...), 0},
		"bash":            {`{"bash": {"command": "true"}}`, bounds(tool...), 0},
		"bash edit":       {`{"bash": "echo x > new; rm README"}`, bounds("agent.assistant_message", "agent.tool_use", "agent.tool_completed", "agent.file_edited", "agent.file_edited", "agent.tool_result"), 0},
		"bash fails":      {`{"bash": "exit 3"}`, bounds(tool...), 0},
		"sleep":           {`{"sleep_s": 0.01}`, bounds(), 0},
		"usage":           {`{"usage": {"input_tokens": 3, "output_tokens": 4, "cost_usd": 0.25}}`, bounds("agent.assistant_message"), 0},
		"wait":            {`{"wait_message": {"timeout_s": 0.05}}`, bounds("agent.waiting"), 0},
		"commit":          {`{"write": {"path": "a", "content": "x"}}, {"commit": "it's done"}, {"push": true}`, bounds(append(append(append([]string{}, edit...), tool...), tool...)...), 0},
		"iteration":       {`{"iteration": {"completion_signal": true, "passed": true}}`, bounds("continuous.started", "iteration.started", "iteration.completion_signal", "iteration.validation", "iteration.completed"), 0},
		"iteration fails": {`{"iteration": {"error": "x"}}`, bounds("continuous.started", "iteration.started", "iteration.failed"), 0},
		"complete":        {`{"complete": {"output": "done"}}, {"say": "never"}`, bounds(), 0},
		"unsuccessful":    {`{"complete": {"success": false}}`, bounds(), 1},
		"continuous":      {`{"continuous_complete": {"validation_passed": true}}`, []string{"agent.started", "continuous.completed", "agent.shutdown"}, 0},
		"not validated":   {`{"continuous_complete": {"validation_passed": false, "stop_reason": "max_cost_reached"}}`, []string{"agent.started", "continuous.completed", "agent.shutdown"}, 1},
		"fail":            {`{"fail": "no"}`, []string{"agent.started", "agent.error", "agent.shutdown"}, 1},
		"flood":           {`{"flood": {"events": 3, "bytes": 10}}`, bounds("agent.message", "agent.message", "agent.message"), 0},
		"exit":            {`{"say": "x"}, {"exit": 7}`, []string{"agent.started", "agent.assistant_message", "agent.message"}, 7},
		"unknown":         {`{"dance": true}`, []string{"agent.started", "agent.error", "agent.shutdown"}, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t, `{"steps": [`+c.step+`]}`)
			require.Equal(t, c.code, b.run())
			require.Equal(t, c.want, b.server.Types())
			for i, e := range b.server.Events() {
				require.EqualValues(t, i+1, e.N)
				require.Equal(t, "task-1", e.Data["task_id"])
				require.Equal(t, "sbx", e.Data["sandbox_id"])
				require.NotEmpty(t, e.Data["agent_id"])
			}
			require.NoFileExists(t, filepath.Join(filepath.Dir(b.cfg.Workspace), "x"))
		})
	}
}

func TestScripted_WholeTask(t *testing.T) {
	t.Parallel()
	b := newBox(t, `{"steps": [
		{"write": {"path": "sum.sh", "content": "echo $((6*7))\n"}},
		{"bash": "sh sum.sh"},
		{"edit": {"path": "sum.sh", "old": "6*7", "new": "6*7*1000"}},
		{"bash": "sh sum.sh; printf '{{last_output}}' > before; git mv README README.md"},
		{"commit": "Add it's sum"}, {"push": true},
		{"usage": {"input_tokens": 10, "output_tokens": 5, "cost_usd": 0.5}},
		{"usage": {"input_tokens": 1, "output_tokens": 1, "cost_usd": 0.25}},
		{"bash": "echo left > rest"},
		{"say": "It is {{last_output}}."},
		{"complete": {"output": "Done."}}
	]}`)
	require.Equal(t, 0, b.run())
	results := b.server.Of("agent.tool_result")
	require.Equal(t, "42\n", results[1].Data["result"])
	require.Equal(t, "42000\n", results[3].Data["result"])
	edits := b.server.Of("agent.file_edited")
	require.Len(t, edits, 5)
	require.Equal(t, "created", edits[0].Data["change_type"])
	require.Equal(t, "--- a/sum.sh\n+++ b/sum.sh\n@@ -1 +1 @@\n-echo $((6*7))\n+echo $((6*7*1000))\n", edits[1].Data["full_diff"])
	require.Equal(t, "renamed", edits[2].Data["change_type"])
	done := b.one("agent.completed")
	require.Equal(t, "Done.", done["final_output"])
	require.Equal(t, true, done["success"])
	require.Equal(t, true, done["code_committed"])
	require.Equal(t, true, done["code_pushed"])
	require.Equal(t, "feature/x", done["branch_name"])
	require.InDelta(t, 0.75, done["cost_usd"], 0)
	require.EqualValues(t, 11, done["input_tokens"])
	require.EqualValues(t, 11, done["turns"])
	require.FileExists(t, done["transcript_path"].(string))

	got := b.collect()
	require.Equal(t, 1, got.Commits)
	require.Equal(t, 1, got.Files)
	require.NotEmpty(t, got.Rescue)
	b.git(b.host, "fetch", "-q", got.Bundle, "refs/heads/feature/x:refs/heads/feature/x", "refs/omoi/rescue:refs/omoi/rescue")
	require.Equal(t, "Add it's sum", b.git(b.host, "log", "-1", "--format=%s", "feature/x"))
	require.Equal(t, "42", b.git(b.host, "show", "feature/x:before"))
	require.Equal(t, "left", b.git(b.host, "show", "refs/omoi/rescue:rest"))

	before := len(b.server.Events())
	require.Equal(t, 0, b.run(), "a restart after the end of the work only reports it")
	after := b.server.Types()
	require.Equal(t, []string{"agent.started", "agent.shutdown"}, after[len(after)-2:])
	require.Len(t, b.server.Events(), before+3)
	spools := map[string]bool{}
	for i, e := range b.server.Events() {
		require.EqualValues(t, i+1, e.N)
		spools[e.Spool] = true
	}
	require.Len(t, spools, 1)
}

func TestScripted_PathsOutsideOfTheWorkspace(t *testing.T) {
	t.Parallel()
	b := newBox(t, `{"steps": [
		{"bash": "ln -s /etc outside; mkfifo pipe"},
		{"write": {"path": "outside/omoi-planted", "content": "x"}},
		{"write": {"path": "/etc/omoi-planted", "content": "x"}},
		{"edit": {"path": "outside/passwd", "old": "root", "new": "toor"}},
		{"edit": {"path": "pipe", "old": "a", "new": "b"}}
	]}`)
	require.Equal(t, 0, b.run())
	results := b.server.Of("agent.tool_result")
	require.Len(t, results, 5)
	for _, r := range results[1:] {
		require.Equal(t, true, r.Data["is_error"], r.Data["result"])
	}
	require.NoFileExists(t, "/etc/omoi-planted")
	require.EqualValues(t, 4, b.one("agent.completed")["tool_errors"])
}

func TestScripted_UnknownStep(t *testing.T) {
	t.Parallel()
	b := newBox(t, `{"steps": [{"write": {"path": "a", "content": ""}}, {"dance": true}]}`)
	require.Equal(t, 1, b.run())
	failed := b.one("agent.error")
	require.Equal(t, "invalid_input", failed["failure_class"])
	require.Contains(t, failed["error"], `unknown step "dance"`)
	require.NoFileExists(t, filepath.Join(b.cfg.Workspace, "a"), "nothing runs of a script that is wrong")
}

func TestRun_FailsBeforeTheStart(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		spoil func(*box)
		class string
	}{
		"no such agent": {func(b *box) { b.cfg.Runtime = "clever" }, "invalid_input"},
		"no bundle":     {func(b *box) { b.cfg.Repo.Bundle = "/nonexistent" }, "infrastructure"},
		"bad bundle":    {func(b *box) { require.NoError(b.t, os.WriteFile(b.cfg.Repo.Bundle, []byte("x"), 0o600)) }, "infrastructure"},
		"setup fails":   {func(b *box) { b.cfg.Setup = "echo oops; exit 4" }, "infrastructure"},
		"no such setup": {func(b *box) { b.cfg.Setup = "make-it-so" }, "invalid_input"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t, `{"steps": []}`)
			c.spoil(b)
			require.Equal(t, 1, b.run())
			failed := b.one("agent.error")
			require.Equal(t, "initialization", failed["phase"])
			require.Equal(t, c.class, failed["failure_class"])
			require.NotEmpty(t, failed["error"])
		})
	}
}

func TestSetup(t *testing.T) {
	t.Parallel()
	b := newBox(t, `{"steps": [{"bash": "cat made"}]}`)
	b.cfg.Setup = "echo by setup > made; echo installed"
	require.Equal(t, 0, b.run())
	require.Equal(t, "installed\n", b.one("agent.setup_completed")["output"])
	require.Equal(t, "by setup\n", b.one("agent.tool_result")["result"])
	require.Empty(t, b.server.Of("agent.file_edited"), "what setup did is not the agent's work")
}

func TestSetup_Fails(t *testing.T) {
	t.Parallel()
	for setup, says := range map[string]string{
		"yes filler | head -c 100000; echo oops; exit 4": "exit code 4. The end of its output:",
		"sleep 1000": "exceeded its timeout of 300ms (setup_timeout_seconds of the project)",
		"make-it-so": "not found",
		"exit 3":     "(none)",
	} {
		b := newBox(t, `{"steps": []}`)
		b.cfg.Setup, b.cfg.SetupTimeout = setup, 300*time.Millisecond
		if !strings.Contains(setup, "sleep") {
			b.cfg.SetupTimeout = 0
		}
		require.Equal(t, 1, b.run())
		failed := b.one("agent.error")["error"].(string)
		require.Contains(t, failed, says)
		require.Less(t, len(failed), 3000, "the end, not all of it")
		require.Equal(t, false, b.one("agent.setup_completed")["success"])
		code := "setup_failed"
		if strings.Contains(setup, "sleep") {
			code = "setup_timeout"
		}
		require.Equal(t, code, b.one("agent.error")["reason_code"])
	}
}

func TestRun_WithoutRepository(t *testing.T) {
	t.Parallel()
	b := newBox(t, `{"steps": [{"bash": "echo x > f"}]}`)
	b.cfg.Repo = nil
	require.Equal(t, 0, b.run())
	require.Equal(t, "f", b.one("agent.file_edited")["file_path"])
	got := b.collect()
	require.False(t, got.Repo)
	require.NotEmpty(t, got.Patch)
}

func TestScripted_WaitMessage(t *testing.T) {
	t.Parallel()
	b := newBox(t, `{"steps": [{"wait_message": {}}, {"say": "you said {{message}}"}]}`)
	_, wait := b.start()
	b.server.Wait(t, agenttest.Has("agent.waiting", 1))
	b.server.Say(agenttest.Message{ID: "m1", Content: "hello", Type: "user_message"})
	require.Equal(t, 0, wait().ExitCode())
	require.Equal(t, "m1", b.one("agent.message_injected")["message_id"])
	require.Equal(t, "you said hello", b.one("agent.message")["content"])
	b.used("m1")
}

// used waits until no restart hands out the message again.
func (b *box) used(id string) {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(b.cfg.Dir, "used_messages"))
	require.NoError(b.t, err)
	var notes struct {
		Used []string `json:"used"`
	}
	require.NoError(b.t, json.Unmarshal(text, &notes))
	require.Contains(b.t, notes.Used, id)
}

func TestScripted_Interrupt(t *testing.T) {
	t.Parallel()
	for _, step := range []string{`{"bash": "echo begun > begun; sleep 1000 & sleep 1000"}`, `{"hang": true}`, `{"sleep_s": 1000}`, `{"wait_message": {}}`} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			b := newBox(t, `{"steps": [{"say": "begin"}, `+step+`, {"say": "never"}]}`)
			_, wait := b.start()
			b.server.Wait(t, agenttest.Has("agent.message", 1))
			b.server.Say(agenttest.Message{ID: "m1", Content: "enough", Type: "interrupt", SenderKind: "agent", SenderID: "box"})
			require.Equal(t, 0, wait().ExitCode())
			for _, event := range []string{"agent.interrupted", "agent.message_injected"} {
				said := b.one(event)
				require.Equal(t, []any{"m1", "agent", "box"}, []any{said["message_id"], said["sender_kind"], said["sender_id"]})
			}
			require.Equal(t, "enough", b.one("agent.interrupted")["reason"])
			b.used("m1")
			require.Equal(t, "interrupted", b.one("agent.shutdown")["reason"])
			require.Empty(t, b.server.Of("agent.completed"))
		})
	}
}

func TestScripted_WaitsForMessages(t *testing.T) {
	t.Parallel()
	b := newBox(t, `{"steps": [{"say": "done"}]}`)
	b.cfg.WaitForMessages = true
	b.cfg.Heartbeat = 5 * time.Millisecond
	cmd, wait := b.start()
	b.server.Wait(t, agenttest.Has("agent.waiting", 1))
	b.server.Say(agenttest.Message{ID: "m1", Content: "more", Type: "user_message"})
	b.server.Wait(t, agenttest.Has("agent.waiting", 2))
	b.server.Say(agenttest.Message{ID: "m2", Content: "stop", Type: "interrupt"})
	b.server.Wait(t, agenttest.Has("agent.waiting", 3))
	b.server.Wait(t, func(events []agenttest.Event) bool {
		for _, e := range events {
			if e.Data["status"] == "waiting" {
				return true
			}
		}
		return false
	})
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 0, wait().ExitCode())
	require.Len(t, b.server.Of("agent.interrupted"), 1)
	b.used("m1")
	b.used("m2")
	require.Len(t, b.server.Of("agent.completed"), 1)
	require.Equal(t, "sigterm", b.one("agent.shutdown")["reason"])
}

func TestRun_SIGTERM(t *testing.T) {
	t.Parallel()
	b := newBox(t, `{"steps": [{"bash": "echo partial; (setsid sh -c 'echo $$ > pid; trap \"\" TERM; while :; do sleep 1; done' &); while [ ! -s pid ]; do sleep 0.01; done; cp pid ready; sleep 1000"}]}`)
	cmd, wait := b.start()
	pid := waitFile(t, filepath.Join(b.cfg.Workspace, "ready"))
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 0, wait().ExitCode())
	require.NoDirExists(t, "/proc/"+pid)
	require.Equal(t, "sigterm", b.one("agent.shutdown")["reason"])
	require.Contains(t, b.one("agent.tool_result")["result"], "partial")
	response := b.one("agent.tool_completed")["tool_response"].(map[string]any)
	require.Equal(t, "stopped", response["outcome"])
	require.EqualValues(t, 0, response["survivors"])
}

func waitFile(t *testing.T, path string) string {
	t.Helper()
	var text string
	require.Eventually(t, func() bool {
		b, err := os.ReadFile(path)
		text = strings.TrimSpace(string(b))
		return err == nil && text != ""
	}, 30*time.Second, 5*time.Millisecond)
	return text
}

func TestHeartbeats_DuringACommand(t *testing.T) {
	t.Parallel()
	b := newBox(t, `{"steps": [{"bash": "while [ ! -e go ]; do sleep 0.01; done"}]}`)
	b.cfg.Heartbeat = 5 * time.Millisecond
	_, wait := b.start()
	b.server.Wait(t, func(events []agenttest.Event) bool {
		return len(events) > 0 && events[len(events)-1].Data["current_tool"] == "Bash"
	})
	require.NoError(t, os.WriteFile(filepath.Join(b.cfg.Workspace, "go"), nil, 0o600))
	require.Equal(t, 0, wait().ExitCode())
	require.Equal(t, "agent.started", b.server.Events()[0].Type)
	require.Equal(t, "agent.heartbeat", b.server.Events()[1].Type)
}

func TestRun_AfterCrash(t *testing.T) {
	t.Parallel()
	b := newBox(t, `{"steps": [{"say": "one"}, {"flood": {"events": 300, "bytes": 100}}, {"crash": "SIGKILL"}, {"say": "two"}]}`)
	_, wait := b.start()
	status, ok := wait().Sys().(syscall.WaitStatus)
	require.True(t, ok)
	require.Equal(t, syscall.SIGKILL, status.Signal())
	out, err := b.command("probe", "--dir", b.cfg.Dir).Output()
	require.NoError(t, err)
	var look spool.Probe
	require.NoError(t, json.Unmarshal(out, &look))
	require.False(t, look.AgentAlive)
	require.GreaterOrEqual(t, int(look.Unsent)+len(b.server.Events()), 304, "what is not stored there is kept here")
	require.GreaterOrEqual(t, look.NewestAgeMS, int64(0))

	require.Equal(t, 0, b.run())
	for i, e := range b.server.Events() {
		require.EqualValues(t, i+1, e.N)
	}
	require.Len(t, b.server.Of("agent.message"), 302)
	require.Equal(t, true, b.server.Of("agent.started")[1].Data["is_resuming"])
	require.Len(t, b.server.Of("agent.completed"), 1)
}

func TestRun_APIDownAtTheEnd(t *testing.T) {
	t.Parallel()
	b := newBox(t, `{"steps": [{"say": "x"}]}`)
	b.server.FaultOf = func(n int) agenttest.Fault {
		if n < 6 {
			return agenttest.Fault{Status: 502}
		}
		return agenttest.Fault{}
	}
	require.Equal(t, 0, b.run())
	require.Len(t, b.server.Of("agent.completed"), 1)
}

func TestRun_SandboxDeleted(t *testing.T) {
	t.Parallel()
	b := newBox(t, `{"steps": [{"hang": true}]}`)
	b.server.FaultOf = func(int) agenttest.Fault { return agenttest.Fault{Status: 410} }
	require.Equal(t, 0, b.run())
}
