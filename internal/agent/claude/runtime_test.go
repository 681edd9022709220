//nolint:paralleltest // a process has one runner of commands
package claude_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/claude"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	agenttest "github.com/omoi-dev/omoi/internal/testkit/agent"
)

const patience = 60 * time.Second // bounds a hang; no test depends on speed

// bench runs the agent in this process, with a fake Claude Code that plays one tape for each of its processes.
type bench struct {
	*testing.T

	server *agenttest.Server
	cfg    agentconfig.Config
	dir    string // folder of the fake
}

func newBench(t *testing.T, env map[string]string, tapes ...[]step) *bench {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	b := &bench{T: t, server: agenttest.New(t), dir: t.TempDir()}
	t.Cleanup(func() { b.server.RequireDescribed(t) })
	for n, tape := range tapes {
		text, err := json.Marshal(tape)
		require.NoError(t, err)
		b.put(fmt.Sprintf("tape-%d", n+1), string(text))
	}
	b.put("version", "2.1.328 (Claude Code)\n")
	home := t.TempDir()
	b.cfg = agentconfig.Config{
		Protocol: agentconfig.Protocol, SandboxID: "sbx", TaskID: "task-1", Attempt: 1, APIURL: b.server.URL, Token: "planted-secret", Runtime: "claude",
		Workspace: filepath.Join(home, "ws"), Dir: filepath.Join(home, "omoi"), Title: "Title", Description: "What to do",
		Grace: 2 * time.Second, Heartbeat: time.Hour, Idle: time.Hour,
		Env: map[string]string{
			claude.Bin: program, fakeDir: b.dir, "ANTHROPIC_BASE_URL": "http://model.invalid", "HOME": home,
			// Otherwise each fake sleeps a second before it ends, under the race detector.
			"GORACE": "atexit_sleep_ms=0",
		},
	}
	maps.Copy(b.cfg.Env, env)
	return b
}

func (b *bench) put(name, text string) {
	b.Helper()
	require.NoError(b, os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o600))
}

// start starts the agent; the returned function waits for its exit code.
func (b *bench) start() (wait func() int) {
	b.Helper()
	ctx, stop := context.WithTimeout(b.Context(), patience)
	code := make(chan int, 1)
	go func() {
		defer stop()
		got, err := agent.Run(ctx, b.cfg, agent.Deps{
			Runtimes: map[string]agent.Runtime{"claude": claude.Runtime{}}, Procs: &proc.Runner{}, Log: slog.New(slog.DiscardHandler),
		})
		if err != nil || ctx.Err() != nil {
			got = -1
		}
		code <- got
	}()
	return func() int { return <-code }
}

func (b *bench) run() int { b.Helper(); return b.start()() }

// reached waits until the fake reaches a mark.
func (b *bench) reached(mark string) string {
	b.Helper()
	var text []byte
	require.Eventually(b, func() bool {
		var err error
		text, err = os.ReadFile(filepath.Join(b.dir, mark))
		return err == nil
	}, patience, 2*time.Millisecond, "%s after %q", mark, b.server.Types())
	return string(text)
}

func (b *bench) tell(id, kind, content string) {
	b.server.Say(agenttest.Message{ID: id, Type: kind, Content: content})
}

func (b *bench) has(eventType string, n int) {
	b.Helper()
	b.server.Wait(b, agenttest.Has(eventType, n))
}

func (b *bench) one(eventType string) map[string]any {
	b.Helper()
	all := b.server.Of(eventType)
	require.Len(b, all, 1, "%s of %q", eventType, b.server.Types())
	return all[0].Data
}

// flag returns the value of a flag of the n-th process.
func (b *bench) flag(n int, name string) string {
	b.Helper()
	_, rest, found := strings.Cut(b.reached(fmt.Sprintf("tape-%d.args", n)), name+" ")
	require.True(b, found, name)
	value, _, _ := strings.Cut(rest, " ")
	return value
}

// says returns a message of the model with 1,000 input and 10 output tokens.
func says(id, text string) step {
	return message(id, map[string]any{"type": "text", "text": text})
}

func calls(id, tool string) step {
	return message(id, map[string]any{"type": "tool_use", "id": tool, "name": "Bash", "input": map[string]any{"command": "true"}})
}

func message(id string, block map[string]any) step {
	return printed(map[string]any{"type": "assistant", "message": map[string]any{
		"id": id, "model": "claude-opus-5", "content": []any{block}, "usage": map[string]any{"input_tokens": 1000, "output_tokens": 10},
	}})
}

func answers(tool, text string) step {
	return printed(map[string]any{"type": "user", "message": map[string]any{
		"role": "user", "content": []any{map[string]any{"type": "tool_result", "tool_use_id": tool, "content": text}},
	}})
}

func ends(text string, cost float64) step {
	return printed(map[string]any{
		"type": "result", "subtype": "success", "result": text, "num_turns": 1, "total_cost_usd": cost, "stop_reason": "end_turn",
		"modelUsage": map[string]any{"claude-opus-5": map[string]any{"inputTokens": 1000, "outputTokens": 10, "costUSD": cost}},
	})
}

func printed(line map[string]any) step {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	return step{Print: string(text)}
}

// recorded returns the output of a version of the real program that writes a file, changes it, runs it, and fails once.
// The fake performs the first write.
func recorded(t *testing.T, version string) (tape []step) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "recorded", version+".jsonl"))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.Contains(line, `"isReplay":true`):
			tape = append(tape, step{Hear: true})
			continue
		case strings.Contains(line, `"type":"assistant"`) && strings.Contains(line, `"name":"Write"`):
			tape = append(tape, step{Write: "sum.sh", Text: "echo $((6*7))\n"})
		}
		tape = append(tape, step{Print: strings.TrimSpace(line)})
	}
	return append(tape, step{End: true})
}

func TestRecordedOutput(t *testing.T) {
	for _, version := range []string{"2.1.197", "2.1.328"} {
		b := newBench(t, nil, recorded(t, version))
		require.Equal(t, 0, b.run(), version)
		kinds := map[string]int{}
		for _, e := range b.server.Events() {
			kinds[e.Type]++
		}
		for kind, want := range map[string]int{
			"agent.thinking": 1, "agent.message": 2, "agent.tool_use": 4, "agent.tool_completed": 4, "agent.tool_result": 4, "agent.user_tool_result": 4, "agent.file_edited": 1,
			"agent.assistant_message": 5, "agent.user_message": 1, "agent.completed": 1, "agent.stream_error": 0,
		} {
			require.Equal(t, want, kinds[kind], "%s of %s: %v", kind, version, kinds)
		}
		require.Equal(t, "--- /dev/null\n+++ b/sum.sh\n@@ -0,0 +1 @@\n+echo $((6*7))\n", b.one("agent.file_edited")["full_diff"])
		results := b.server.Of("agent.tool_result")
		require.Equal(t, []any{"42000", false}, []any{results[2].Data["result"], results[2].Data["is_error"]})
		require.Equal(t, []any{"Exit code 3", true}, []any{results[3].Data["result"], results[3].Data["is_error"]})
		done := b.one("agent.completed")
		require.Equal(t, []any{"It prints 42000.", 5.0, 5000.0, 50.0, 1.0}, []any{
			done["final_output"], done["turns"], done["input_tokens"], done["output_tokens"], done["tool_errors"],
		})
		require.Positive(t, done["cost_usd"])
		require.NotContains(t, done, "cost_estimated")
	}
}

func TestMessage_DuringTheTurn(t *testing.T) {
	b := newBench(t, nil, []step{{Hear: true}, calls("m1", "t1"), {Hear: true}, answers("t1", "ok"), says("m2", "With tabs."), ends("With tabs.", 0.01), {End: true}})
	wait := b.start()
	b.has("agent.tool_use", 1)
	b.tell("a", "user_message", "use tabs")
	require.Equal(t, 0, wait())
	require.Equal(t, "a", b.one("agent.message")["in_reply_to"])
	require.Equal(t, "With tabs.", b.one("agent.completed")["final_output"])
	require.Contains(t, b.server.Acks(), "a")
}

// TestMessage_AtTheEnd checks that a message during the program's end starts the next turn, in another process.
func TestMessage_AtTheEnd(t *testing.T) {
	b := newBench(
		t, nil, []step{{Hear: true}, says("m1", "Done."), ends("Done.", 0.01), {End: true}, {Mark: "closing"}, {Until: "go"}},
		[]step{{Hear: true}, says("m2", "More."), ends("More.", 0.01), {End: true}},
	)
	wait := b.start()
	b.reached("closing")
	b.tell("a", "user_message", "and more")
	b.has("agent.message_injected", 1)
	b.put("go", "")
	require.Equal(t, 0, wait())
	require.Equal(t, "More.", b.one("agent.completed")["final_output"])
	require.Equal(t, b.flag(1, "--session-id"), b.flag(2, "--resume"))
	require.Equal(t, "a", b.server.Of("agent.message")[1].Data["in_reply_to"])
	require.InDelta(t, 0.02, b.one("agent.completed")["cost_usd"], 1e-9, "both processes, each once")
	require.EqualValues(t, 2000, b.one("agent.completed")["input_tokens"])
}

func TestInterrupt_AtTheEnd(t *testing.T) {
	b := newBench(
		t, nil, []step{{Hear: true}, says("m1", "Done."), ends("Done.", 0.01), {End: true}, {Mark: "closing"}, {Deaf: true}},
		[]step{{Hear: true}, says("m2", "Then so."), ends("Then so.", 0.01), {End: true}},
	)
	wait := b.start()
	b.reached("closing")
	b.tell("a", inbox.TypeInterrupt, "enough")
	b.has("agent.waiting", 1)
	require.Equal(t, "a", b.one("agent.interrupted")["message_id"])
	require.Empty(t, b.server.Of("agent.completed"))
	b.tell("b", "user_message", "go on")
	require.Equal(t, 0, wait())
	require.Equal(t, "Then so.", b.one("agent.completed")["final_output"])
}

func TestInterrupt_Unanswered(t *testing.T) {
	b := newBench(
		t, nil, []step{{Hear: true}, calls("m1", "t1"), {Mark: "deaf"}, {Deaf: true}},
		[]step{{Hear: true}, {Hear: true}, says("m2", "Then so."), ends("Then so.", 0.01), {End: true}},
	)
	wait := b.start()
	b.reached("deaf")
	b.tell("long", "user_message", strings.Repeat("x", 1<<20))
	b.has("agent.message_injected", 1)
	b.tell("a", inbox.TypeInterrupt, "enough")
	b.has("agent.waiting", 1)
	require.Equal(t, "a", b.one("agent.interrupted")["message_id"])
	b.tell("b", "user_message", "go on")
	require.Equal(t, 0, wait())
}

// TestBudget_OfTheAttempt checks that all processes share the budget, and that a message without budget does not count
// as delivered.
func TestBudget_OfTheAttempt(t *testing.T) {
	b := newBench(
		t, map[string]string{"MAX_BUDGET_USD": "1.25"},
		[]step{{Hear: true}, says("m1", "One."), ends("One.", 0.75), {Hear: true}, calls("m2", "t2"), {Mark: "deaf"}, {Deaf: true}},
		[]step{{Hear: true}, says("m3", "Three."), ends("Three.", 0.5), {End: true}},
	)
	b.cfg.WaitForMessages = true
	wait := b.start()
	b.has("agent.waiting", 1)
	b.tell("a", "user_message", "two")
	b.reached("deaf")
	b.tell("b", inbox.TypeInterrupt, "enough")
	b.has("agent.waiting", 2)
	b.tell("c", "user_message", "three")
	b.has("agent.waiting", 3)
	require.Equal(t, []string{"1.2500", "0.4948"}, []string{b.flag(1, "--max-budget-usd"), b.flag(2, "--max-budget-usd")})
	b.tell("d", "user_message", "four")
	require.Equal(t, 1, wait())
	failed := b.one("agent.error")
	require.Equal(t, []any{"stopped", "max_cost_reached", true}, []any{failed["failure_class"], failed["stop_reason"], failed["cost_estimated"]})
	require.InDelta(t, 1.25525, failed["cost_usd"], 1e-6, "what the process that was ended had spent is not forgotten")
	require.Equal(t, "d", b.one("agent.message_dropped")["message_id"])
}

// TestTurns_OfTheAttempt checks that each message gets the rest of the turns.
func TestTurns_OfTheAttempt(t *testing.T) {
	b := newBench(
		t, map[string]string{"MAX_TURNS": "3"}, []step{{Hear: true}, says("m1", "One."), ends("One.", 0.01), {End: true}},
		[]step{{Hear: true}, calls("m2", "t2"), answers("t2", "ok"), calls("m3", "t3"), answers("t3", "ok"), {Interrupted: true}, {End: true}},
	)
	b.cfg.WaitForMessages = true
	wait := b.start()
	b.has("agent.waiting", 1)
	b.tell("a", "user_message", "go on")
	require.Equal(t, 1, wait())
	require.Equal(t, []string{"3", "2"}, []string{b.flag(1, "--max-turns"), b.flag(2, "--max-turns")})
	failed := b.one("agent.error")
	require.Equal(t, []any{"stopped", "max_turns_reached"}, []any{failed["failure_class"], failed["stop_reason"]})
	require.Contains(t, failed["error"], "after 3 turns")
	require.Len(t, b.server.Of("agent.tool_result"), 2)
}

// TestContinuousModeWaitsForMessages checks that an agent with passing work waits before it reports, and that a message
// starts another iteration.
func TestContinuousModeWaitsForMessages(t *testing.T) {
	b := newBench(t, map[string]string{"MAX_ITERATIONS": "2"}, []step{
		{Hear: true}, says("m1", "TASK_COMPLETE"), ends("TASK_COMPLETE", 0.01), {Hear: true}, says("m2", "Both. TASK_COMPLETE"), ends("Both. TASK_COMPLETE", 0.02), {End: true},
	})
	b.cfg.Continuous, b.cfg.WaitForMessages = true, true
	wait := b.start()
	b.has("agent.waiting", 1)
	require.Empty(t, b.server.Of("continuous.completed"))
	b.tell("a", "user_message", "and this")
	require.Equal(t, 0, wait())
	done := b.one("continuous.completed")
	require.Equal(t, []any{true, 2.0, 2.0}, []any{done["validation_passed"], done["iteration_num"], done["successful_iterations"]})
	require.Len(t, b.server.Of("agent.waiting"), 1, "there is no round left for another message")
}

func TestContinuousModeEndsAtItsIdleLimit(t *testing.T) {
	b := newBench(t, nil, []step{{Hear: true}, says("m1", "TASK_COMPLETE"), ends("TASK_COMPLETE", 0.01), {End: true}})
	b.cfg.Continuous, b.cfg.WaitForMessages, b.cfg.Idle = true, true, 10*time.Millisecond
	require.Equal(t, 0, b.run())
	b.one("agent.waiting")
	require.Equal(t, "validation_passed", b.one("continuous.completed")["stop_reason"])
}

func TestInvalidLimit(t *testing.T) {
	b := newBench(t, map[string]string{"MAX_TURNS": "many"})
	require.Equal(t, 1, b.run())
	failed := b.one("agent.error")
	require.Equal(t, "invalid_input", failed["failure_class"])
	require.Contains(t, failed["error"], `MAX_TURNS="many"`)
}

func TestUnsupportedVersion(t *testing.T) {
	b := newBench(t, nil)
	b.put("version", "3.0.1 (Claude Code)\n")
	require.Equal(t, 1, b.run())
	require.Equal(t, "invalid_input", b.one("agent.error")["failure_class"])
	require.Contains(t, b.one("agent.error")["error"], "Claude Code 3.0.1, which this version of omoi does not support")
}

// TestUnreadableLines checks that invalid output is reported, and that the run neither hangs nor fails.
func TestUnreadableLines(t *testing.T) {
	b := newBench(t, nil, []step{
		{Hear: true},
		{Print: "Segmentation"},
		{Print: `{"type":"assistant","message":`},
		{Print: `{"type":"from_the_future","message":7}`},
		says("m1", "Done."),
		ends("Done.", 0.01),
		{End: true},
	})
	require.Equal(t, 0, b.run())
	kinds := map[any]int{}
	for _, e := range b.server.Of("agent.system_message") {
		kinds[e.Data["line_type"]]++
	}
	require.Equal(t, map[any]int{"omoi_line_unread": 2, "from_the_future": 1}, kinds)
	b = newBench(t, nil, []step{{Hear: true}, {Print: "panic: no more colours"}, {Exit: 2}})
	require.Equal(t, 1, b.run())
	require.Contains(t, b.one("agent.error")["error"], "exit code 2 before its work was done. Its last line was not valid: panic: no more colours")
	require.Equal(t, "agent_error", b.one("agent.error")["failure_class"])
}

func TestToolOutput_Huge(t *testing.T) {
	const size = 50 << 20
	b := newBench(t, nil, []step{{Hear: true}, calls("m1", "big"), {Write: "after"}, {Bytes: size}, says("m2", "Done."), ends("Done.", 0.01), {End: true}})
	require.Equal(t, 0, b.run())
	result := b.one("agent.tool_result")
	require.Equal(t, []any{"Bash", "big", true}, []any{result["tool"], result["tool_use_id"], result["result_truncated"]})
	require.Greater(t, result["result_full_length"], float64(size))
	require.Equal(t, []any{"after", "big"}, []any{b.one("agent.file_edited")["file_path"], b.one("agent.file_edited")["tool_use_id"]})
}

// TestToolOutput_KeptByTheProgram checks the full length of an output of which the program shows the beginning.
func TestToolOutput_KeptByTheProgram(t *testing.T) {
	b := newBench(t, nil, []step{{Hear: true}, calls("m1", "big"), printed(map[string]any{
		"type": "user", "message": map[string]any{"role": "user", "content": []any{
			map[string]any{"type": "tool_result", "tool_use_id": "big", "content": "<persisted-output>the beginning"},
		}},
		"tool_use_result": map[string]any{"stdout": "the beginning", "persistedOutputPath": "/x/big.txt", "persistedOutputSize": 1688895},
	}), says("m2", "Done."), ends("Done.", 0.01), {End: true}})
	require.Equal(t, 0, b.run())
	result := b.one("agent.tool_result")
	require.Equal(t, []any{"<persisted-output>the beginning", true, float64(1688895)},
		[]any{result["result"], result["result_truncated"], result["result_full_length"]})
}

// TestProgramDies checks that last text and cost are reported, however the program ends.
func TestProgramDies(t *testing.T) {
	began := step{Print: `{"type":"stream_event","event":{"type":"message_start","message":{"id":"m1","model":"claude-opus-5","usage":{"input_tokens":1000,"output_tokens":1}}}}`}
	part := step{Print: `{"type":"stream_event","event":{"type":"content_block_delta","delta":{"text":"The answer is"}}}`}
	for name, c := range map[string]struct {
		end   step
		class string
	}{
		"killed by a signal":  {step{Signal: int(syscall.SIGKILL)}, "infrastructure"},
		"at a limit":          {step{Signal: int(syscall.SIGXFSZ)}, "resources"},
		"ended by itself":     {step{Exit: 1}, "agent_error"},
		"by another's signal": {step{Signal: int(syscall.SIGTERM)}, "infrastructure"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, []step{{Hear: true}, began, part, c.end})
			require.Equal(t, 1, b.run())
			failed := b.one("agent.error")
			require.Equal(t, c.class, failed["failure_class"], failed["error"])
			require.Equal(t, []any{"The answer is", true}, []any{failed["final_output"], failed["cost_estimated"]})
			require.InDelta(t, 0.005, failed["cost_usd"], 0.001)
			require.Equal(t, true, b.one("agent.message")["partial"])
		})
	}
}

func TestProgramDies_ChildrenAreKilled(t *testing.T) {
	b := newBench(t, nil, []step{{Hear: true}, {Child: true}, says("m1", "Done."), ends("Done.", 0.01), {End: true}})
	require.Equal(t, 0, b.run())
	pid, err := strconv.Atoi(b.reached("child"))
	require.NoError(t, err)
	require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
	require.Positive(t, b.one("agent.shutdown")["killed_processes"])
}
