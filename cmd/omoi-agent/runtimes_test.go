package main_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/claude"
	"github.com/omoi-dev/omoi/internal/proctable"
	"github.com/omoi-dev/omoi/internal/task"
	agenttest "github.com/omoi-dev/omoi/internal/testkit/agent"
	openhandstest "github.com/omoi-dev/omoi/internal/testkit/openhands"
)

// fakeClaude is a program that speaks the protocol of Claude Code and runs a test's script.
const fakeClaude = `#!/bin/bash
[ "$1" = --version ] && { echo "2.1.1 (Claude Code)"; exit; }
replay() {
	uuid=$(printf %s "$said" | sed 's/.*"uuid":"\([^"]*\)".*/\1/')
	echo '{"type":"user","isReplay":true,"uuid":"'$uuid'","message":{"role":"user","content":"to do"}}'
}
read -r said
echo '{"type":"system","subtype":"init"}'
replay
result() { echo '{"type":"result","subtype":"success","is_error":'$1',"result":"'"$2"'","total_cost_usd":0.5,"modelUsage":{"claude-opus-5":{"inputTokens":7,"costUSD":0.5}}}'; }
`

// fakeClaudeBox returns a sandbox whose agent is fakeClaude. fakeClaudeBox needs no model and no network.
func fakeClaudeBox(t *testing.T, does string) *box {
	t.Helper()
	b := newBox(t, "")
	path := filepath.Join(t.TempDir(), "claude")
	require.NoError(t, os.WriteFile(path, []byte(fakeClaude+does+"\n"), 0o755))
	b.cfg.Runtime, b.cfg.Env = "claude", map[string]string{claude.Bin: path, "ANTHROPIC_BASE_URL": "http://127.0.0.1:1", wantsNoCommit: "false"}
	return b
}

// wantsNoCommit is set to false for tests without commits, because an implementation is complete only with work.
const wantsNoCommit = "REQUIRE_CODE_PUSHED"

// commandBox returns a sandbox in which a shell script is the agent.
func commandBox(t *testing.T, does string) *box {
	t.Helper()
	b := newBox(t, "")
	b.cfg.Runtime, b.cfg.Command, b.cfg.Env = "command", []string{"sh", "-c", speaks + does}, map[string]string{wantsNoCommit: "false"}
	return b
}

// openhandsBox returns a sandbox whose agent is a conversation of a fake OpenHands server.
func openhandsBox(t *testing.T, script func(*openhandstest.Turn)) *box {
	t.Helper()
	return openhandsBoxAt(t, openhandstest.NewFake(t, script))
}

func openhandsBoxAt(t *testing.T, f *openhandstest.Fake) *box {
	t.Helper()
	b := newBox(t, "")
	b.cfg.Runtime, b.cfg.Env = "openhands", f.Vars()
	b.cfg.Env[wantsNoCommit], b.cfg.Env["HOME"] = "false", t.TempDir()
	return b
}

// speaks are the event lines of a program.
const speaks = `
event() { printf '{"omoi":"event","event_type":"%s","event_data":%s}\n' "$1" "$2"; }
says() { event agent.assistant_message '{"model":"m"}'; event agent.message '{"content":"'"$1"'"}'; }
`

// kinds returns boxes of all runtimes with the same scenarios.
func kinds(t *testing.T) map[string]map[string]func() *box {
	t.Helper()
	const tree = `(setsid sh -c 'echo $$ > pid; trap \"\" TERM; while :; do sleep 1; done' &); while [ ! -s pid ]; do sleep 0.01; done; cp pid ready; sleep 1000`
	command := func(does string) func() *box { return func() *box { return commandBox(t, does) } }
	script := func(step string) func() *box { return func() *box { return newBox(t, `{"steps": [`+step+`]}`) } }
	program := func(does string) func() *box { return func() *box { return fakeClaudeBox(t, does) } }
	plain := strings.ReplaceAll(tree, `\"`, `"`)
	all := map[string]map[string]func() *box{
		"scripted": {"succeeds": script(`{"complete": {"output": "done"}}`), "fails": script(`{"fail": "no"}`), "hangs": script(`{"bash": "` + tree + `"}`)},
		"command":  {"succeeds": command("echo done"), "fails": command("exit 3"), "hangs": command(plain)},
		"claude":   {"succeeds": program("result false done; cat > /dev/null"), "fails": program("result true no; exit 1"), "hangs": program(plain)},
	}
	openhands := func(script func(*openhandstest.Turn)) func() *box {
		return func() *box { return openhandsBox(t, script) }
	}
	all["openhands"] = map[string]func() *box{
		"succeeds": openhands(func(t *openhandstest.Turn) { t.Finish("done") }),
		"fails":    openhands(func(t *openhandstest.Turn) { t.Fail("Code", "agent_action", "no") }),
		"hangs":    openhands(func(t *openhandstest.Turn) { t.Shell(plain) }),
	}
	for _, r := range task.Runtimes {
		if r.ACP && all[r.Name] == nil {
			agent := func(does string) func() *box { return func() *box { return fakeACPBox(t, r.Name, does) } }
			all[r.Name] = map[string]func() *box{"succeeds": agent("result done; hear"), "fails": agent("fails no; hear"), "hangs": agent(plain)}
		}
	}
	return all
}

// isRunning reports whether a process runs. One that has ended may wait for init to take note of it.
func isRunning(t *testing.T, pid string) bool {
	t.Helper()
	number, err := strconv.Atoi(pid)
	require.NoError(t, err)
	p, found := proctable.Read(number)
	return found && !p.HasEnded()
}

// TestEveryRuntime holds all runtimes to one contract: each outcome is reported once, a restart after finished work
// does nothing, and SIGTERM kills all processes within the grace time and is reported.
func TestEveryRuntime(t *testing.T) {
	t.Parallel()
	all := kinds(t)
	for _, r := range task.Runtimes {
		require.True(t, r.SelfConnecting || all[r.Name] != nil, "%s has no row in kinds", r.Name)
	}
	for name, does := range all {
		t.Run(name+" succeeds", func(t *testing.T) {
			t.Parallel()
			b := does["succeeds"]()
			require.Equal(t, 0, b.run())
			done := b.one("agent.completed")
			require.Equal(t, true, done["success"])
			require.Equal(t, "done", strings.TrimSpace(done["final_output"].(string)))
			for _, key := range []string{"turns", "cost_usd", "session_id", "stop_reason", "input_tokens", "output_tokens", "branch_name", "agent_type"} {
				require.Contains(t, done, key)
			}
			require.Equal(t, 0, b.run())
			b.one("agent.completed")
			require.Len(t, b.server.Of("agent.shutdown"), 2)
		})
		t.Run(name+" fails", func(t *testing.T) {
			t.Parallel()
			b := does["fails"]()
			require.Equal(t, 1, b.run())
			require.Equal(t, "agent_error", b.one("agent.error")["failure_class"])
			require.Empty(t, b.server.Of("agent.completed"))
		})
		t.Run(name+" is stopped", func(t *testing.T) {
			t.Parallel()
			b := does["hangs"]()
			b.cfg.Grace = time.Minute // only the order counts
			cmd, wait := b.start()
			pid := waitFile(t, b.at("ready"))
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			require.Equal(t, 0, wait().ExitCode())
			require.False(t, isRunning(t, pid))
			require.Equal(t, "sigterm", b.one("agent.shutdown")["reason"])
			require.Empty(t, b.server.Of("agent.error"))
		})
	}
}

// TestInvalidLines checks that output which is not a valid line, or too long for one, ends nothing.
func TestInvalidLines(t *testing.T) {
	t.Parallel()
	b := fakeClaudeBox(t, `
echo 'no json'; echo '{"type":'; echo '[]'; echo; echo '{"type":"brand_new","x":{}}'; echo '{"type":"assistant","message":7}'
echo '{"type":"assistant","message":{"id":"m","model":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"x"}}]}}'
printf '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"'; head -c 50000000 /dev/zero | tr '\0' x; echo '"}]}}'
result false done; cat > /dev/null`)
	require.Equal(t, 0, b.run())
	require.Equal(t, "done", b.one("agent.completed")["final_output"])
	kinds := []any{}
	for _, e := range b.server.Of("agent.system_message") {
		kinds = append(kinds, e.Data["line_type"])
	}
	require.Equal(t, []any{"system", "omoi_line_unread", "omoi_line_unread", "omoi_line_unread", "brand_new"}, kinds)
	require.Greater(t, b.one("agent.tool_result")["result_full_length"], 5e7, "left out, but for its length")
}

// TestProgramDies checks that a crash or a silent exit is reported with the exit code, the last message and the usage.
func TestProgramDies(t *testing.T) {
	t.Parallel()
	const began = `
echo '{"type":"stream_event","event":{"type":"message_start","message":{"id":"m","model":"claude-opus-5","usage":{"input_tokens":1000}}}}'
echo '{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"half an ans"}}}'
`
	for does, want := range map[string][2]string{
		"kill -9 $$":                    {"infrastructure", "killed"},
		"exit 0":                        {"agent_error", "exit code 0"},
		"echo oops >&2; exit 7":         {"agent_error", "oops"},
		"result false done; exit 1":     {"agent_error", "exit code 1"},
		"result false done; kill -9 $$": {"infrastructure", "killed"},
	} {
		t.Run(does, func(t *testing.T) {
			t.Parallel()
			b := fakeClaudeBox(t, began+does)
			require.Equal(t, 1, b.run())
			failed := b.one("agent.error")
			require.Equal(t, want[0], failed["failure_class"], failed["error"])
			require.Contains(t, failed["error"], want[1])
			if strings.Contains(does, "result") {
				require.InDelta(t, 0.5, failed["cost_usd"], 1e-9)
				return
			}
			require.Equal(t, "half an ans", b.one("agent.message")["content"])
			require.EqualValues(t, 1000, failed["input_tokens"])
			require.Equal(t, true, failed["cost_estimated"])
		})
	}
}

// TestInterrupt_Unanswered checks that an interrupt kills a program that does not respond, and that its session
// continues with the unread messages.
func TestInterrupt_Unanswered(t *testing.T) {
	t.Parallel()
	b := fakeClaudeBox(t, `if [ -e begun ]; then read -r said; replay; result false 'went on'; cat > /dev/null; exit; fi; touch begun; trap "" TERM INT; while :; do sleep 1; done`)
	_, wait := b.start()
	waitExists(t, b.at("begun"))
	b.server.Say(agenttest.Message{ID: "m0", Content: "use tabs", Type: "user_message"})
	b.server.Wait(t, agenttest.Has("agent.message_injected", 1))
	asked := time.Now()
	b.server.Say(agenttest.Message{ID: "m1", Content: "enough", Type: "interrupt"})
	b.server.Wait(t, agenttest.Has("agent.interrupted", 1))
	t.Logf("stopped within %s", time.Since(asked))
	b.server.Say(agenttest.Message{ID: "m2", Content: "go on", Type: "user_message"})
	require.Equal(t, 0, wait().ExitCode())
	b.one("agent.interrupted")
	require.Equal(t, "went on", b.one("agent.completed")["final_output"])
	b.used("m0")
}

func waitExists(t *testing.T, path string) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := os.Stat(path)
		return err == nil
	}, 30*time.Second, 5*time.Millisecond)
}
