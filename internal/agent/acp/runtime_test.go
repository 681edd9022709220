//nolint:paralleltest // a process has one runner of commands
package acp_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/acp"
	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/task"
	acptest "github.com/omoi-dev/omoi/internal/testkit/acp"
	agenttest "github.com/omoi-dev/omoi/internal/testkit/agent"
)

const patience = 90 * time.Second // bounds a hang; no test depends on speed

// names returns the dialects of the recorded agents.
func names() []string {
	all := acptest.Agents()
	all[0] = acp.Claude
	return all
}

// bench runs omoi-agent in this process, with a fake agent that plays a recorded session.
type bench struct {
	*testing.T

	server  *agenttest.Server
	cfg     agentconfig.Config
	dir     string // folder of the fake
	runtime acp.Runtime
}

func newBench(t *testing.T, name, session, does string) *bench {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	dialect, ok := acp.Of(name)
	require.True(t, ok, name)
	b := &bench{T: t, server: agenttest.New(t), dir: t.TempDir(), runtime: acp.Runtime{Dialect: dialect, Minute: time.Millisecond}}
	t.Cleanup(func() { b.server.RequireDescribed(t) })
	home := t.TempDir()
	b.cfg = agentconfig.Config{
		Protocol: agentconfig.Protocol, SandboxID: "sbx", TaskID: "task-1", Attempt: 1, APIURL: b.server.URL, Token: "planted-secret", Runtime: name,
		Workspace: filepath.Join(home, "ws"), Dir: filepath.Join(home, "omoi"), Title: "Title", Description: "What to do",
		Grace: 2 * time.Second, Heartbeat: time.Hour, Idle: time.Hour, Transcript: 10 * time.Millisecond,
		Env: map[string]string{
			dialect.Bin(): program, fakeDir: b.dir, fakeAgent: strings.TrimSuffix(name, "-acp"), fakeSession: session, fakeDoes: does, "HOME": home,
			"GORACE": "atexit_sleep_ms=0", // otherwise each fake sleeps a second before it ends, under the race detector
		},
	}
	maps.Copy(b.cfg.Env, access(name))
	return b
}

// plantedKey is the credential of the agent.
const plantedKey = "planted-key"

// access returns the variables of an agent's credential.
func access(name string) map[string]string {
	kind := strings.ToUpper(cmp.Or(task.RuntimeOf(name).Credential, "anthropic"))
	return map[string]string{kind + "_API_KEY": plantedKey, "MODEL": "scripted-model"}
}

// inRepository gives the workspace a repository, so that work without a commit is no work.
func (b *bench) inRepository() {
	b.Helper()
	host := filepath.Join(b.TempDir(), "host")
	require.NoError(b, os.Mkdir(host, 0o755))
	for _, line := range []string{
		"git init -q -b main", "git commit -q --allow-empty -m first", "git branch feature/x", "git bundle create -q ../in.bundle feature/x",
	} {
		cmd := exec.CommandContext(b.Context(), "sh", "-c", line)
		cmd.Dir = host
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_CONFIG_GLOBAL=/dev/null")
		out, err := cmd.CombinedOutput()
		require.NoError(b, err, string(out))
	}
	head, err := exec.CommandContext(b.Context(), "git", "-C", host, "rev-parse", "HEAD").Output()
	require.NoError(b, err)
	b.cfg.Mode = "implementation"
	b.cfg.Repo = &agentconfig.Repo{
		Branch: "feature/x", Base: strings.TrimSpace(string(head)), Bundle: filepath.Join(host, "../in.bundle"), AuthorName: "Agent", AuthorEmail: "agent@example.invalid",
	}
}

// start starts omoi-agent; the returned function waits for its exit code.
func (b *bench) start() (wait func() int) {
	b.Helper()
	ctx, stop := context.WithTimeout(b.Context(), patience)
	code := make(chan int, 1)
	go func() {
		defer stop()
		got, err := agent.Run(ctx, b.cfg, agent.Deps{
			Runtimes: map[string]agent.Runtime{b.cfg.Runtime: b.runtime}, Procs: &proc.Runner{}, Program: "/omoi/omoi-agent", Log: slog.New(slog.DiscardHandler),
		})
		if err != nil || ctx.Err() != nil {
			got = -1
		}
		code <- got
	}()
	return func() int { return <-code }
}

func (b *bench) run() int { b.Helper(); return b.start()() }

func (b *bench) one(eventType string) map[string]any {
	b.Helper()
	all := b.server.Of(eventType)
	require.Len(b, all, 1, "%s of %q", eventType, b.server.Types())
	return all[0].Data
}

// String returns the failure and the types of all events, for the message of a failed test.
func (b *bench) String() string {
	all := b.server.Types()
	for _, e := range b.server.Of("agent.error") {
		all = append(all, fmt.Sprintf("%v: %v", e.Data["failure_class"], e.Data["error"]))
	}
	return strings.Join(all, " ")
}

func (b *bench) tell(id, kind, content string) {
	b.server.Say(agenttest.Message{ID: id, Type: kind, Content: content})
}

func (b *bench) has(eventType string, n int) {
	b.Helper()
	b.server.Wait(b, agenttest.Has(eventType, n))
}

// heard returns what the n-th process of the fake has read.
func (b *bench) heard(n string) string {
	b.Helper()
	text, err := os.ReadFile(filepath.Join(b.dir, "heard-"+n))
	require.NoError(b, err)
	return string(text)
}

// TestRecordedTask checks the events of a whole task of each agent: a plan, a file, an edit, a command, a command that
// fails, and an answer.
func TestRecordedTask(t *testing.T) {
	for _, name := range names() {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, name, "basic", "")
			require.Zero(t, b.run(), b)
			calls, results := b.server.Of("agent.tool_use"), b.server.Of("agent.tool_result")
			require.GreaterOrEqual(t, len(calls), 3)
			require.Len(t, results, len(calls))
			require.Len(t, b.server.Of("agent.tool_completed"), len(calls))
			last := results[len(results)-1].Data
			fails := name != "gemini" && name != "qwen" // gemini tells no exit codes, and qwen's recording ends before
			require.Equal(t, fails, last["is_error"], "%v", last)
			for _, c := range calls {
				require.NotEmpty(t, c.Data["tool"])
				require.NotEmpty(t, c.Data["input"])
			}
			done := b.one("agent.completed")
			require.Contains(t, done["final_output"], "The result is")
			require.NotContains(t, done["final_output"], "Warning:")
			require.Positive(t, done["input_tokens"])
			if priced := name == acp.Claude || name == "opencode"; priced {
				require.Positive(t, done["cost_usd"])
			} else {
				require.Equal(t, []any{nil, true}, []any{done["cost_usd"], done["cost_unknown"]})
			}
			require.NotContains(t, b.heard("1"), "planted-key")
		})
	}
}

// TestMessage_DuringTheTurn checks that the receipt of a message says how it reached the agent.
func TestMessage_DuringTheTurn(t *testing.T) {
	for name, how := range map[string]string{
		"codex": "in the turn", acp.Claude: "in the turn", "opencode": "in the turn", "qwen": "in the turn", "gemini": "as a prompt", "copilot": "as a prompt",
	} {
		t.Run(name, func(t *testing.T) {
			session, does := "steer", ""
			if name == "gemini" || name == "copilot" || name == "qwen" { // a second prompt would cancel the turn
				session, does = "basic", "hold"
			}
			b := newBench(t, name, session, does)
			wait := b.start()
			b.has("agent.tool_use", 1)
			b.tell("a", "user_message", "use tabs")
			b.has("agent.message_injected", 1)
			if does == "hold" && name != "qwen" {
				require.NoError(t, os.WriteFile(filepath.Join(b.dir, "go"), nil, 0o600))
			}
			require.Zero(t, wait(), b)
			require.Equal(t, []any{map[string]any{"message_id": "a", "delivered": how}}, b.receipts())
			require.Equal(t, 1, strings.Count(b.heard("1"), "use tabs"), "it is said once")
			require.Contains(t, b.server.Acks(), "a")
			require.Empty(t, b.server.Of("agent.message_dropped"))
			if how == "as a prompt" {
				require.Equal(t, "a", b.server.Of("agent.message")[len(b.server.Of("agent.message"))-1].Data["in_reply_to"])
			}
		})
	}
}

// TestInterrupt_LeavesNoProcess checks that an interrupt ends the agent with all its children, and that the session goes
// on with the next message.
func TestInterrupt_LeavesNoProcess(t *testing.T) {
	for _, name := range names() {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, name, "cancel", "child")
			wait := b.start()
			b.has("agent.tool_use", 1)
			pid := b.child()
			b.tell("a", inbox.TypeInterrupt, "enough")
			b.has("agent.waiting", 1)
			require.NoDirExists(t, "/proc/"+pid)
			require.Equal(t, "a", b.one("agent.interrupted")["message_id"])
			require.Contains(t, b.heard("1"), "session/cancel")
			require.Len(t, b.server.Of("agent.tool_result"), len(b.server.Of("agent.tool_use")), "a call that was cut off has an end")
			b.tell("b", "user_message", "go on")
			require.Zero(t, wait(), b)
			require.Regexp(t, "session/(resume|load)", b.heard("2"))
			require.Equal(t, "As you say.", b.one("agent.completed")["final_output"])
			require.Empty(t, b.server.Of("agent.resume_failed"))
			for _, e := range b.server.Events() {
				require.NotContains(t, string(e.Raw), "replayed", "what a session replays is not reported again")
			}
		})
	}
}

// TestInterrupt_KillsAnAgentThatIgnoresACancel checks that the session continues in a new process.
func TestInterrupt_KillsAnAgentThatIgnoresACancel(t *testing.T) {
	b := newBench(t, "codex", "basic", "")
	b.scripted(`cd "$` + fakeDir + `"; [ ! -e again ] || { text yes; result; hear; }; : > again; trap "" TERM; call 1; hear`)
	wait := b.start()
	b.has("agent.tool_use", 1)
	b.tell("a", inbox.TypeInterrupt, "enough")
	b.has("agent.waiting", 1)
	b.tell("b", "user_message", "go on")
	require.Zero(t, wait(), b)
	require.Equal(t, "yes", b.one("agent.completed")["final_output"])
}

// TestUnknownRequest_IsRefusedAtOnce checks that an agent does not wait for what omoi does not have.
func TestUnknownRequest_IsRefusedAtOnce(t *testing.T) {
	b := newBench(t, "opencode", "basic", "")
	b.scripted(`echo '{"jsonrpc":"2.0","id":"w","method":"fs/write_text_file","params":{}}'; read -r said
		case "$said" in *'"code":-32601'*) text refused; esac; result; hear`)
	require.Zero(t, b.run(), b)
	require.Equal(t, "refused", b.one("agent.completed")["final_output"])
}

// child returns the PID of the child that the fake has started.
func (b *bench) child() (pid string) {
	b.Helper()
	require.Eventually(b, func() bool {
		text, err := os.ReadFile(filepath.Join(b.dir, "child"))
		pid = string(text)
		return err == nil
	}, patience, 2*time.Millisecond)
	require.DirExists(b, "/proc/"+pid)
	return pid
}

// TestNextAttempt checks that an attempt after one whose agent was killed in a tool call, in another sandbox, continues
// the session, or has a summary of it and says so.
func TestNextAttempt(t *testing.T) {
	for _, name := range names() {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, name, "basic", "die")
			dialect := b.runtime.Dialect
			where := func() acp.Place { return acp.Place{Home: b.cfg.Env["HOME"], Dir: b.cfg.Dir, Work: b.cfg.Workspace} }
			id := b.recordedSession()
			if dialect.Session != nil && dialect.Journal == nil {
				_, b.cfg.Env[fakeKeeps] = dialect.Session(where(), id)
			}
			b.plantLogins()
			require.Equal(t, 1, b.run())
			require.Equal(t, "infrastructure", b.one("agent.error")["failure_class"])
			for run, kept := range b.server.Transcripts() {
				require.NotContains(t, kept.Content, "planted", run)
			}
			home := t.TempDir()
			earlier := b.cfg.Workspace
			b.cfg.Attempt, b.cfg.Dir, b.cfg.Env["HOME"], b.cfg.Env[fakeDoes] = 2, filepath.Join(home, "omoi"), home, ""
			b.cfg.Workspace = filepath.Join(home, "other")
			b.cfg.Resume = b.stored()
			require.Equal(t, id, b.cfg.Resume.SessionID)
			require.Zero(t, b.run(), b)
			prompts := b.server.Of("agent.user_message")
			text, _ := prompts[len(prompts)-1].Data["content"].(string)
			if dialect.Session != nil {
				require.Empty(t, b.server.Of("agent.resume_failed"))
				require.Contains(t, b.heard("2"), `"sessionId":"`+id+`"`)
				_, path := dialect.Session(where(), id)
				kept, err := os.ReadFile(path)
				require.NoError(t, err)
				require.Contains(t, string(kept), "what the agent remembers")
				require.Contains(t, text, "Your work on this task was cut off.")
				require.NotContains(t, string(kept), earlier)
				if dialect.Journal != nil {
					taken, err := os.ReadFile(filepath.Join(b.dir, "imported"))
					require.NoError(t, err)
					require.Contains(t, string(taken), "what the agent remembers")
					require.NotContains(t, string(taken), earlier)
				}
				return
			}
			require.Contains(t, b.one("agent.resume_failed")["error"], "another sandbox")
			require.Contains(t, text, "a session that cannot be continued")
			require.Contains(t, text, "What to do", "the summary holds what was said")
			require.Contains(t, b.heard("2"), "session/new")
		})
	}
}

// plantLogins writes a login where each program keeps it, next to its sessions.
func (b *bench) plantLogins() {
	b.Helper()
	home := b.cfg.Env["HOME"]
	for _, path := range []string{
		home + "/.gemini/oauth_creds.json", home + "/.qwen/oauth_creds.json", home + "/.copilot/config.json", home + "/.local/share/opencode/auth.json",
		b.cfg.Dir + "/codex/auth.json", b.cfg.Dir + "/claude/.credentials.json",
	} {
		require.NoError(b, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(b, os.WriteFile(path, []byte(`{"token":"planted-login-0123456789"}`), 0o600))
	}
}

// TestFirstTurn_KeepsTheSession checks that the session is stored while the turn that began its file still runs, so that
// the loss of the sandbox does not lose it.
func TestFirstTurn_KeepsTheSession(t *testing.T) {
	for _, name := range names() {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, name, "basic", "hold")
			dialect := b.runtime.Dialect
			if dialect.Session == nil {
				t.Skip("the session cannot be moved")
			}
			_, path := dialect.Session(acp.Place{Home: b.cfg.Env["HOME"], Dir: b.cfg.Dir, Work: b.cfg.Workspace}, b.recordedSession())
			if dialect.Journal == nil {
				b.cfg.Env[fakeKeeps] = path
			}
			wait := b.start()
			require.Eventually(t, func() bool {
				return slices.ContainsFunc(slices.Collect(maps.Values(b.server.Transcripts())), func(kept agenttest.Transcript) bool {
					return strings.Contains(kept.Content, "what the agent remembers") && kept.SessionID == b.recordedSession()
				})
			}, patience, 2*time.Millisecond)
			require.Empty(t, b.server.Of("agent.completed"))
			require.NoError(t, os.WriteFile(filepath.Join(b.dir, "go"), nil, 0o600))
			require.Zero(t, wait(), b)
		})
	}
}

// stored returns the session that the API has of the first attempt.
func (b *bench) stored() *agentconfig.Resume {
	b.Helper()
	for run, kept := range b.server.Transcripts() {
		if kept.SessionID != "" && !strings.Contains(run, "beside") {
			return &agentconfig.Resume{RunID: run, SessionID: kept.SessionID, Attempt: 1}
		}
	}
	b.Fatal("no transcript was stored")
	return nil
}

// recordedSession returns the ID of the recorded session.
func (b *bench) recordedSession() string {
	b.Helper()
	id := recordedID(b.cfg.Runtime)
	require.NotEmpty(b, id)
	return id
}

// TestRefused_BeforeTheFirstPrompt checks agents that cannot begin: each error names the command that helps.
func TestRefused_BeforeTheFirstPrompt(t *testing.T) {
	for name, c := range map[string]struct {
		change func(b *bench)
		class  string
		next   string
	}{
		"no program":    {func(b *bench) { delete(b.cfg.Env, b.runtime.Dialect.Bin()); b.cfg.Env["PATH"] = "/nonexistent" }, "invalid_input", "npm install"},
		"no credential": {func(b *bench) { delete(b.cfg.Env, "GOOGLE_API_KEY") }, "credentials", "omoi credentials set google"},
		"too old":       {func(b *bench) { b.runtime.Dialect.Least = "99.0" }, "invalid_input", "npm install"},
		"no such mode":  {func(b *bench) { b.runtime.Dialect.Mode = "free" }, "infrastructure", "no mode free"},
		"no agent":      {func(b *bench) { b.cfg.Env[b.runtime.Dialect.Bin()] = "/bin/false" }, "agent_error", "exit code 1"},
		"silent":        {func(b *bench) { b.silent() }, "infrastructure", "no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "gemini", "basic", "")
			c.change(b)
			require.Equal(t, 1, b.run())
			failed := b.one("agent.error")
			require.Equal(t, c.class, failed["failure_class"], failed["error"])
			require.Contains(t, failed["error"], c.next)
			require.Empty(t, b.server.Of("agent.user_message"))
		})
	}
}

// TestCodex_HasItsFolder checks the folder without which Codex does not start.
func TestCodex_HasItsFolder(t *testing.T) {
	b := newBench(t, "codex", "basic", "")
	require.Zero(t, b.run(), b)
	require.DirExists(t, filepath.Join(b.cfg.Dir, "codex"))
}

// TestQwen_HasItsSettings checks the settings without which Qwen Code asks the model more than the task needs.
func TestQwen_HasItsSettings(t *testing.T) {
	b := newBench(t, "qwen", "basic", "")
	require.Zero(t, b.run(), b)
	settings, err := os.ReadFile(filepath.Join(b.cfg.Env["HOME"], ".qwen", "settings.json"))
	require.NoError(t, err)
	require.True(t, json.Valid(settings))
	require.Contains(t, string(settings), `"enableFollowupSuggestions": false`)
	require.Contains(t, string(settings), `"gitCoAuthor": {"commit": false, "pr": false}`)
}

// silent makes the agent a program that reads and says nothing.
func (b *bench) silent() {
	path := filepath.Join(b.dir, "silent")
	require.NoError(b, os.WriteFile(path, []byte("#!/bin/sh\nexec cat > /dev/null\n"), 0o755))
	b.cfg.Env[b.runtime.Dialect.Bin()], b.runtime.Patience = path, 200*time.Millisecond
}

// TestSilence_IsNoRateLimit checks that an endpoint that does not answer keeps no other task from the credential.
func TestSilence_IsNoRateLimit(t *testing.T) {
	for name, session := range map[string]string{"gemini": "hung", "qwen": "e429", "copilot": "cancelmodel"} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, name, session, "")
			b.runtime.Silence = 300 * time.Millisecond
			require.Equal(t, 1, b.run(), b)
			failed := b.one("agent.error")
			require.Equal(t, []any{"infrastructure", "silent"}, []any{failed["failure_class"], failed["error_type"]}, failed)
		})
	}
}
