package main_test

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	agenttest "github.com/omoi-dev/omoi/internal/testkit/agent"
)

// TestCommand_EventLines checks that event lines become events, including the outcome, and that all else is output.
func TestCommand_EventLines(t *testing.T) {
	t.Parallel()
	b := commandBox(t, `
echo plain
event agent.tool_use '{"tool":"Bash","tool_use_id":"t1"}'
echo '{"omoi":"event","event_type":'
event agent.shutdown '{}'
event agent.message '{"content":"the key is planted-secret","sandbox_id":"another"}'
event agent.completed '{"final_output":"Done.","cost_usd":0.25,"input_tokens":7,"output_tokens":3}'
event agent.completed '{"final_output":"Again."}'
exit 3`)
	require.Equal(t, 0, b.run())
	require.Equal(t, []string{"agent.started", "agent.tool_use", "agent.message", "agent.completed", "agent.shutdown"}, b.server.Types())
	require.Equal(t, []any{"the key is [redacted]", "sbx"}, []any{b.one("agent.message")["content"], b.one("agent.message")["sandbox_id"]})
	done := b.one("agent.completed")
	require.Equal(t, []any{"Done.", 0.25, 7.0, true, "feature/x"}, []any{done["final_output"], done["cost_usd"], done["input_tokens"], done["success"], done["branch_name"]})
	_, kept := b.transcript()
	require.Contains(t, kept.Content, `"content":"the key is [redacted]"`)
	require.NotContains(t, kept.Content, "plain")
}

func TestCommand_ReportsFailure(t *testing.T) {
	t.Parallel()
	for line, kind := range map[string]string{
		`event agent.error '{"error":"no","failure_class":"credentials"}'`: "agent.error",
		`event agent.completed '{"success":false,"final_output":"no"}'`:    "agent.completed",
		`event agent.completed '{"success":"false","final_output":"no"}'`:  "agent.completed",
		`event agent.failed '{"error":"no"}'`:                              "agent.failed",
	} {
		b := commandBox(t, line)
		require.Equal(t, 1, b.run(), line)
		b.one(kind)
		require.Len(t, b.server.Types(), 3, "nothing is added: %q", b.server.Types())
	}
}

// TestCommand_LongLine checks that a line which is too long is output.
func TestCommand_LongLine(t *testing.T) {
	t.Parallel()
	b := commandBox(t, `
long() { printf '{"omoi":"event","event_type":"agent.message","event_data":{"content":"'; head -c $1 /dev/zero | tr '\0' x; echo '"}}'; }
long 3000000; long 30000000; echo done`)
	require.Equal(t, 0, b.run())
	require.Greater(t, b.one("agent.message")["shortened_from_bytes"], 3e6)
	require.Len(t, b.one("agent.completed")["final_output"], 64<<10)
}

// TestCommand_OwnEdits checks that an edit which the program reports is not reported again.
func TestCommand_OwnEdits(t *testing.T) {
	t.Parallel()
	b := commandBox(t, `echo a > mine; echo b > other; event agent.file_edited '{"file_path":"'"$PWD"'/mine","change_type":"created","full_diff":"+a"}'`)
	require.Equal(t, 0, b.run())
	edits := b.server.Of("agent.file_edited")
	require.Len(t, edits, 2)
	require.Equal(t, []any{"+a", "other"}, []any{edits[0].Data["full_diff"], edits[1].Data["file_path"]})
	require.EqualValues(t, 2, b.one("agent.completed")["files_changed"])
}

// TestCommand_InvalidSums checks that reported costs stay valid numbers, and that omoi counts the iterations itself.
func TestCommand_InvalidSums(t *testing.T) {
	t.Parallel()
	b := commandBox(t, `echo x > left; event continuous.started '{}'; event iteration.started '{}'; for i in 1 2; do event agent.assistant_message '{"content":"x","usage":{"input_tokens":1e308}}'; done`)
	b.cfg.Continuous = true
	b.cfg.Env["MAX_ITERATIONS"] = "3"
	_ = b.run()
	done := b.one("continuous.completed")
	require.Equal(t, "max_iterations_reached", done["stop_reason"])
	require.Equal(t, 1e15, done["input_tokens"])
	b.one("continuous.started")
	require.Len(t, b.server.Of("iteration.started"), 3)
}

func TestCommand_InvalidLimit(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{"MAX_DURATION_SECONDS": "1e10", "MAX_ITERATIONS": "0.5", "MAX_TURNS": "inf", "MAX_BUDGET_USD": "-1"} {
		b := commandBox(t, "true")
		b.cfg.Env[name] = value
		require.Equal(t, 1, b.run())
		require.Contains(t, b.one("agent.error")["error"], name+"="+strconv.Quote(value))
	}
}

// TestCommand_PlainProgramRunsOnce checks that a program without event lines and messages runs once an attempt.
func TestCommand_PlainProgramRunsOnce(t *testing.T) {
	t.Parallel()
	for does, why := range map[string]string{"echo sorry; exit 3": "exit code 3 (exited). The end of its output:\nsorry", `printf 'starting\n\nno disk\n'; exit 3`: "starting\nno disk", "echo x > left": "left"} {
		b := commandBox(t, does)
		b.cfg.Continuous = true
		require.Equal(t, 1, b.run())
		require.Contains(t, b.one("agent.error")["error"], why)
		require.Empty(t, b.server.Of("continuous.completed"))
		require.Empty(t, b.server.Of("iteration.started"))
	}
}

// TestCommand_InterruptWithoutMessages checks that a program which polls for messages itself gets them, and that an
// interrupt stops it.
func TestCommand_InterruptWithoutMessages(t *testing.T) {
	t.Parallel()
	b := commandBox(t, stray+`touch begun; trap 'echo stopped >> log; exit 0' INT; stray; while :; do sleep 0.05; done`)
	_, wait := b.start()
	pid := waitFile(t, b.at("ready"))
	b.server.Say(agenttest.Message{ID: "m0", Content: "use tabs", Type: "user_message"}, agenttest.Message{ID: "m1", Content: "enough", Type: "interrupt"})
	require.Equal(t, 1, wait().ExitCode())
	require.NoDirExists(t, "/proc/"+pid)
	require.Equal(t, "stopped", waitFile(t, b.at("log")), "it could clean up")
	require.Equal(t, "m1", b.one("agent.interrupted")["message_id"])
	require.Equal(t, "stopped", b.one("agent.error")["failure_class"])
	require.Equal(t, []string{"m1"}, slices.Compact(b.server.Acks()))
	b.used("m1")
}

// TestCommand_UnreadMessage checks that a message which the program did not read does not count as delivered.
func TestCommand_UnreadMessage(t *testing.T) {
	t.Parallel()
	b := commandBox(t, `[ -e begun ] && { touch again; exit; }; touch begun; while [ ! -e go ]; do sleep 0.02; done`)
	b.cfg.ReadsMessages = true
	_, wait := b.start()
	waitExists(t, b.at("begun"))
	// More than a pipe holds.
	b.server.Say(agenttest.Message{ID: "m1", Content: strings.Repeat("x", 100_000), Type: "user_message"})
	b.server.Wait(t, agenttest.Has("agent.message_injected", 1))
	require.NoError(t, os.WriteFile(b.at("go"), nil, 0o600))
	require.Equal(t, 0, wait().ExitCode())
	require.FileExists(t, b.at("again"), "it is given another chance")
	require.Equal(t, "m1", b.one("agent.message_dropped")["message_id"])
	b.one("agent.completed")
}

// TestCommand_ContinuesTranscript checks that a later attempt continues the transcript of an earlier one.
func TestCommand_ContinuesTranscript(t *testing.T) {
	t.Parallel()
	b := commandBox(t, `grep -q 'The answer' "$SESSION_TRANSCRIPT_PATH" && says "session $RESUME_SESSION_ID"`)
	b.server.Keep("earlier", `{"omoi":"event","event_type":"agent.message","event_data":{"content":"The answer"}}`+"\n")
	b.cfg.Attempt, b.cfg.Resume = 2, &agentconfig.Resume{RunID: "earlier", SessionID: "before", Attempt: 1}
	require.Equal(t, 0, b.run())
	require.Equal(t, "session before", b.one("agent.completed")["final_output"])
	_, kept := b.transcript()
	require.Equal(t, 3, strings.Count(kept.Content, "\n"), "behind what was said before")
}

// TestCommand_MessageAfterSuccess checks that a message after passing work starts another iteration, and that the
// earlier one is complete.
func TestCommand_MessageAfterSuccess(t *testing.T) {
	t.Parallel()
	b := commandBox(t, `[ -e begun ] && read -r said; touch begun; says done`)
	b.cfg.ReadsMessages, b.cfg.WaitForMessages, b.cfg.Continuous, b.cfg.Env["REQUIRE_CLEAN_GIT"] = true, true, true, "false"
	b.cfg.Env["MAX_ITERATIONS"] = "2"
	_, wait := b.start()
	b.server.Wait(t, agenttest.Has("agent.waiting", 1))
	require.Empty(t, b.server.Of("continuous.completed"))
	b.server.Say(agenttest.Message{ID: "m1", Content: "more", Type: "user_message"})
	require.Equal(t, 0, wait().ExitCode())
	require.Len(t, b.server.Of("iteration.completed"), 2)
	done := b.one("continuous.completed")
	require.Equal(t, []any{true, 2.0, 2.0}, []any{done["validation_passed"], done["iteration_num"], done["successful_iterations"]})
}
