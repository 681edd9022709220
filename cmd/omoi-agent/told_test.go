package main_test

import (
	"bytes"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	agenttest "github.com/omoi-dev/omoi/internal/testkit/agent"
)

// TestClaimedSuccess_IsChecked checks that a success which a program reports needs work.
func TestClaimedSuccess_IsChecked(t *testing.T) {
	t.Parallel()
	for kind, line := range map[string]string{
		"agent.completed":      `event agent.completed '{"success":true,"final_output":"Done.","mine":7}'`,
		"continuous.completed": `event continuous.completed '{"validation_passed":true,"final_output":"Done.","mine":7}'`,
	} {
		b := commandBox(t, line)
		delete(b.cfg.Env, wantsNoCommit)
		require.Equal(t, 1, b.run())
		failed := b.one("agent.error")
		require.Equal(t, []any{"nothing_done", "Done.", 7.0}, []any{failed["error_type"], failed["final_output"], failed["mine"]})
		require.Contains(t, failed["error"], "has no commit of this task")
		require.NotEqual(t, true, failed["success"])
		require.NotEqual(t, true, failed["validation_passed"])
		require.Len(t, b.server.Types(), 3, "one outcome: %q", b.server.Types())

		b = commandBox(t, "git commit -q --allow-empty -m work; "+line)
		delete(b.cfg.Env, wantsNoCommit)
		require.Equal(t, 0, b.run())
		require.Len(t, b.server.Types(), 3, "one outcome: %q", b.server.Types())
		done := b.one(kind)
		require.Equal(t, []any{true, "Done.", 7.0}, []any{done["code_committed"], done["final_output"], done["mine"]})
	}
}

// TestClaimedSuccess_Continuous checks that in continuous mode a program which reports success runs again until its
// work passes.
func TestClaimedSuccess_Continuous(t *testing.T) {
	t.Parallel()
	const says = `event continuous.completed '{"validation_passed":true,"stop_reason":"mine","tests_passed":true,"mine":7}'; exit 3`
	for does, want := range map[string][]any{
		says: {false, "max_iterations_reached", false, 7.0},
		`case "$OMOI_FEEDBACK" in *'test command failed'*) touch passed;; esac; ` + says: {true, "validation_passed", true, 7.0},
	} {
		b := commandBox(t, does)
		b.cfg.Continuous, b.cfg.TestCommand = true, "test -e passed"
		b.cfg.Env["MAX_ITERATIONS"], b.cfg.Env["REQUIRE_CLEAN_GIT"] = "2", "false"
		_ = b.run()
		over := b.one("continuous.completed")
		require.Equal(t, want, []any{over["validation_passed"], over["stop_reason"], over["tests_passed"], over["mine"]})
		require.Len(t, b.server.Of("iteration.validation"), 2)
		require.Empty(t, b.server.Of("agent.error"))
	}
}

// TestClaimedFailure_OfAnIteration checks that a program's failure ends the iteration, and not the attempt.
func TestClaimedFailure_OfAnIteration(t *testing.T) {
	t.Parallel()
	b := commandBox(t, `[ -n "$OMOI_FEEDBACK" ] && { event agent.completed '{"final_output":"Done."}'; exit; }
event agent.completed '{"success":false,"final_output":"no"}'`)
	b.cfg.Continuous = true
	require.Equal(t, 0, b.run())
	require.Contains(t, b.one("iteration.failed")["error"], "not done. no")
	require.Equal(t, "Done.", b.one("agent.completed")["final_output"])
	require.Equal(t, true, b.one("continuous.completed")["validation_passed"])
}

// TestClaimedOutcome_AtTheEnd checks that an outcome counts when the program has ended, with all that it reports until
// then.
func TestClaimedOutcome_AtTheEnd(t *testing.T) {
	t.Parallel()
	b := commandBox(t, `event agent.completed '{"final_output":"Done."}'; event agent.message '{"content":"still at it"}'; while [ ! -e go ]; do sleep 0.02; done`)
	b.cfg.Grace = time.Hour
	_, wait := b.start()
	b.server.Wait(t, agenttest.Has("agent.message", 1))
	require.Empty(t, b.server.Of("agent.completed"))
	require.NoError(t, os.WriteFile(b.at("go"), nil, 0o600))
	require.Equal(t, 0, wait().ExitCode())
	require.Equal(t, bounds("agent.message", "agent.file_edited"), b.server.Types())
}

func TestClaimedOutcome_ProgramLingers(t *testing.T) {
	t.Parallel()
	b := commandBox(t, stray+`event agent.completed '{"final_output":"Done."}'; deaf`)
	b.cfg.Grace = time.Second
	require.Equal(t, 0, b.run())
	require.Equal(t, "Done.", b.one("agent.completed")["final_output"])
	require.Empty(t, b.server.Of("agent.error"))
}

// TestPostedOutcome_CountsOnce checks a program that sends its outcome to the API and prints it.
func TestPostedOutcome_CountsOnce(t *testing.T) {
	t.Parallel()
	b := commandBox(t, `event agent.message '{"content":"x"}'; while [ ! -e go ]; do sleep 0.02; done; event agent.completed '{"final_output":"Done."}'`)
	_, wait := b.start()
	b.server.Wait(t, agenttest.Has("agent.message", 1))
	res, err := http.Post(b.server.URL+"/api/v1/sandboxes/sbx/events", "application/json", bytes.NewBufferString(`{"event_type":"agent.completed"}`))
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.NoError(t, os.WriteFile(b.at("go"), nil, 0o600))
	require.Equal(t, 0, wait().ExitCode())
	b.one("agent.completed")
}

// TestClaimedValidator checks that a program cannot make itself a validator: its end is not a verdict.
func TestClaimedValidator(t *testing.T) {
	t.Parallel()
	for _, success := range []string{"true", "false"} {
		b := commandBox(t, `event agent.completed '{"success":`+success+`,"agent_type":"validator","validation_passed":true}'`)
		_ = b.run()
		require.Equal(t, "implementer", b.one("agent.completed")["agent_type"])
	}
}

// TestClaimedOutcome_WaitsForMessages checks that an outcome does not end the attempt with wait_for_messages.
func TestClaimedOutcome_WaitsForMessages(t *testing.T) {
	t.Parallel()
	b := commandBox(t, `
over() { event continuous.completed '{"validation_passed":true,"final_output":"'"$1"'"}'; }
[ -e begun ] && read -r said && over told && exit; touch begun; over done`)
	b.cfg.ReadsMessages, b.cfg.WaitForMessages, b.cfg.Continuous = true, true, true
	b.cfg.Env["REQUIRE_CLEAN_GIT"], b.cfg.Env["MAX_ITERATIONS"] = "false", "2"
	_, wait := b.start()
	b.server.Wait(t, agenttest.Has("agent.waiting", 1))
	require.Empty(t, b.server.Of("continuous.completed"))
	b.server.Say(agenttest.Message{ID: "m1", Content: "more", Type: "user_message"})
	require.Equal(t, 0, wait().ExitCode())
	require.Equal(t, "told", b.one("continuous.completed")["final_output"])
	b.used("m1")
}
