package main_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	agenttest "github.com/omoi-dev/omoi/internal/testkit/agent"
)

// TestMessage_AfterTheLastAnswer checks that a message which is read after the final answer starts another turn.
func TestMessage_AfterTheLastAnswer(t *testing.T) {
	t.Parallel()
	b := fakeClaudeBox(t, `
touch begun; read -r said; result false First; replay
read -r -t 1 more; [ $? -gt 128 ] && result false Second || result true 'nobody waited'
cat > /dev/null`)
	_, wait := b.start()
	waitExists(t, b.at("begun"))
	b.server.Say(agenttest.Message{ID: "m1", Content: "and more", Type: "user_message"})
	require.Equal(t, 0, wait().ExitCode())
	require.Equal(t, "Second", b.one("agent.completed")["final_output"])
	b.used("m1")
}

// TestTestCommand_Interrupt checks that an interrupt stops the test command, and that earlier messages are not lost.
func TestTestCommand_Interrupt(t *testing.T) {
	t.Parallel()
	b := fakeClaudeBox(t, `result false TASK_COMPLETE; while read -r said; do replay; result false TASK_COMPLETE; done`)
	b.cfg.Continuous, b.cfg.TestCommand = true, `[ -e testing ] && exit; touch testing; while :; do sleep 1; done`
	b.cfg.Env["REQUIRE_CLEAN_GIT"], b.cfg.Env["REQUIRE_CODE_PUSHED"] = "false", "false"
	_, wait := b.start()
	waitExists(t, b.at("testing"))
	b.server.Say(agenttest.Message{ID: "m0", Content: "use tabs", Type: "user_message"})
	b.server.Wait(t, agenttest.Has("agent.message_injected", 1))
	b.server.Say(agenttest.Message{ID: "m1", Content: "enough", Type: "interrupt"})
	b.server.Wait(t, agenttest.Has("agent.waiting", 1))
	require.Equal(t, "m1", b.one("agent.interrupted")["message_id"])
	b.server.Say(agenttest.Message{ID: "m2", Content: "go on", Type: "user_message"})
	require.Equal(t, 0, wait().ExitCode())
	require.Equal(t, true, b.one("continuous.completed")["validation_passed"])
	for _, id := range []string{"m0", "m1", "m2"} {
		b.used(id)
	}
}

// TestTestCommand_TimeLimit checks that the time limit of continuous mode includes the test command.
func TestTestCommand_TimeLimit(t *testing.T) {
	t.Parallel()
	b := fakeClaudeBox(t, `result false TASK_COMPLETE; cat > /dev/null`)
	b.cfg.Continuous, b.cfg.TestCommand = true, `while :; do sleep 1; done`
	b.cfg.Env["MAX_DURATION_SECONDS"] = "2"
	require.Equal(t, 1, b.run())
	require.Equal(t, "max_duration_reached", b.one("continuous.completed")["stop_reason"])
}

// TestTestCommand_Messages checks that all messages during the test command reach the program.
func TestTestCommand_Messages(t *testing.T) {
	t.Parallel()
	b := fakeClaudeBox(t, `result false TASK_COMPLETE; while read -r said; do replay; result false TASK_COMPLETE; done`)
	b.cfg.Continuous, b.cfg.TestCommand = true, `touch testing; while [ ! -e go ]; do sleep 0.02; done`
	b.cfg.Env["REQUIRE_CLEAN_GIT"], b.cfg.Env["REQUIRE_CODE_PUSHED"] = "false", "false"
	_, wait := b.start()
	waitExists(t, b.at("testing"))
	for _, id := range []string{"m1", "m2", "m3"} {
		b.server.Say(agenttest.Message{ID: id, Content: id, Type: "user_message"})
	}
	b.server.Wait(t, agenttest.Has("agent.message_injected", 3))
	require.NoError(t, os.WriteFile(b.at("go"), nil, 0o600))
	require.Equal(t, 0, wait().ExitCode())
	require.Equal(t, true, b.one("continuous.completed")["validation_passed"])
	for _, id := range []string{"m1", "m2", "m3"} {
		b.used(id)
	}
}

// TestSlash checks that text with a leading slash is not a command of the program.
func TestSlash(t *testing.T) {
	t.Parallel()
	b := fakeClaudeBox(t, `case "$said" in *'"content":"/'*) result true 'a command';; *) result false done;; esac; cat > /dev/null`)
	b.cfg.Title, b.cfg.Description = "/health answers 500", "/health answers 500; fix it"
	require.Equal(t, 0, b.run())
}
