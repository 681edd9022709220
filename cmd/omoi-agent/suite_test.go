//nolint:paralleltest,thelper // act.both runs them in parallel, as tests of their own
package main_test

import (
	"maps"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	agenttest "github.com/omoi-dev/omoi/internal/testkit/agent"
)

// act is one scenario for three agents: one that prints event lines, one that speaks as Claude Code, and one that speaks the
// Agent Client Protocol.
type act struct{ command, claude, acp string }

// both runs a test with all agents.
func (a act) both(t *testing.T, test func(t *testing.T, b *box)) {
	t.Helper()
	t.Parallel()
	t.Run("command", func(t *testing.T) {
		t.Parallel()
		b := commandBox(t, a.command)
		b.cfg.ReadsMessages = true
		test(t, b)
	})
	t.Run("claude", func(t *testing.T) {
		t.Parallel()
		test(t, fakeClaudeBox(t, a.claude))
	})
	if a.acp == "" {
		return
	}
	t.Run("acp", func(t *testing.T) {
		t.Parallel()
		test(t, fakeACPBox(t, "codex", a.acp))
	})
}

// stray starts a process that leaves its process group and ignores all signals except SIGKILL.
const stray = `
stray() { (setsid sh -c 'echo $$ > pid; trap "" TERM INT; while :; do sleep 1; done' &); while [ ! -s pid ]; do sleep 0.01; done; cp pid ready; }
deaf() { trap "" TERM INT; stray; while :; do sleep 1; done; }
`

// bashTool are the lines of a tool call of Claude Code.
const bashTool = `
call() { echo '{"type":"assistant","message":{"id":"'$1'","model":"claude-opus-5","content":[{"type":"tool_use","id":"'$1'","name":"Bash","input":{"command":"x"}}],"usage":{"input_tokens":'${2:-1}'}}}'; echo '{"type":"stream_event","event":{"type":"message_stop"}}'; }
answer() { echo '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"'$1'","content":"ok"}]}}'; }
`

func TestAgents_InterruptAndMessage(t *testing.T) {
	act{
		command: stray + `if [ -e begun ]; then read -r said; case "$said" in *'go on'*) says 'went on';; esac; exit; fi; touch begun; deaf`,
		claude:  stray + `if [ -e begun ]; then result false 'went on'; cat > /dev/null; exit; fi; touch begun; deaf`,
		acp:     stray + `if [ -e begun ]; then result 'went on'; hear; fi; touch begun; deaf`,
	}.both(t, func(t *testing.T, b *box) {
		_, wait := b.start()
		pid := waitFile(t, b.at("ready"))
		b.server.Say(agenttest.Message{ID: "m1", Content: "enough", Type: "interrupt", SenderKind: "agent", SenderID: "box"})
		b.server.Wait(t, agenttest.Has("agent.waiting", 1))
		require.NoDirExists(t, "/proc/"+pid)
		b.server.Say(agenttest.Message{ID: "m2", Content: "go on", Type: "user_message"})
		require.Equal(t, 0, wait().ExitCode())
		stopped := b.one("agent.interrupted")
		require.Equal(t, []any{"enough", "m1", "agent", "box"}, []any{stopped["reason"], stopped["message_id"], stopped["sender_kind"], stopped["sender_id"]})
		require.Equal(t, "went on", b.one("agent.completed")["final_output"])
		b.used("m1")
		b.used("m2")
	})
}

func TestAgents_InterruptWithoutMessage(t *testing.T) {
	act{command: stray + "deaf", claude: stray + "deaf", acp: stray + "deaf"}.both(t, func(t *testing.T, b *box) {
		b.cfg.Idle = time.Second
		_, wait := b.start()
		waitFile(t, b.at("ready"))
		b.server.Say(agenttest.Message{ID: "m1", Content: "enough", Type: "interrupt"})
		require.Equal(t, 1, wait().ExitCode())
		require.Equal(t, []any{"stopped", "interrupted", "interrupted"},
			[]any{b.one("agent.error")["failure_class"], b.one("agent.error")["error_type"], b.one("agent.error")["reason_code"]})
		b.one("agent.interrupted")
		b.used("m1")
	})
}

func TestAgents_Message(t *testing.T) {
	act{
		command: `touch begun; read -r said; case "$said" in *'use tabs'*) event agent.message '{"content":"With tabs.","in_reply_to":"m1"}';; esac`,
		claude:  `touch begun; read -r said; case "$said" in *'use tabs'*) replay; echo '{"type":"assistant","message":{"id":"a","model":"m","content":[{"type":"text","text":"With tabs."}]}}'; result false 'With tabs.';; esac; cat > /dev/null`,
		acp:     `touch begun; hear; case "$said" in *'use tabs'*) result 'With tabs.';; esac; hear`,
	}.both(t, func(t *testing.T, b *box) {
		_, wait := b.start()
		waitExists(t, b.at("begun"))
		b.server.Say(agenttest.Message{ID: "m1", Content: "use tabs", Type: "user_message"})
		require.Equal(t, 0, wait().ExitCode())
		require.Equal(t, "m1", b.one("agent.message_injected")["message_id"])
		require.Equal(t, "m1", b.one("agent.message")["in_reply_to"])
		require.Equal(t, "With tabs.", b.one("agent.completed")["final_output"])
		b.used("m1")
	})
}

// TestAgents_WaitForMessages checks that a finished agent with wait_for_messages waits, and continues with each
// message.
func TestAgents_WaitForMessages(t *testing.T) {
	act{
		command: `[ -e begun ] && read -r said && says "told" && exit; touch begun; says done`,
		claude:  `result false done; read -r said; replay; result false told; cat > /dev/null`,
		acp:     `result done; hear; result told; hear`,
	}.both(t, func(t *testing.T, b *box) {
		b.cfg.WaitForMessages, b.cfg.Idle = true, 2*time.Minute
		cmd, wait := b.start()
		b.server.Wait(t, agenttest.Has("agent.waiting", 1))
		require.Empty(t, b.server.Of("agent.completed"))
		b.server.Say(agenttest.Message{ID: "m1", Content: "more", Type: "user_message"})
		b.server.Wait(t, agenttest.Has("agent.waiting", 2))
		require.Equal(t, []any{"m1"}, b.server.Of("agent.waiting")[1].Data["message_ids"], "what it has answered")
		b.server.Say(agenttest.Message{ID: "m2", Content: "stop", Type: "interrupt"}) // there is nothing to stop
		b.server.Wait(t, agenttest.Has("agent.waiting", 3))
		b.one("agent.interrupted")
		b.server.Say(agenttest.Message{ID: "m3", Content: "stop", Type: "interrupt"})
		b.server.Wait(t, agenttest.Has("agent.waiting", 4))
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		require.Equal(t, 0, wait().ExitCode())
		b.used("m1")
	})
}

func TestAgents_ChangedFiles(t *testing.T) {
	const changes = `echo x >> empty; mv long moved; rm gone; printf '\0' > binary; mkdir -p a/b; echo new > a/b/new; echo bye > README; `
	act{
		command: changes + `event agent.tool_result '{"tool_use_id":"t1","result":"ok"}'; echo last > last`,
		claude:  bashTool + `call t1; ` + changes + `answer t1; echo last > last; result false done; cat > /dev/null`,
		acp:     `call t1; ` + changes + `answer t1; echo last > last; result done; hear`,
	}.both(t, func(t *testing.T, b *box) {
		b.cfg.Setup = ": > empty; seq 100 > long; echo gone > gone"
		require.Equal(t, 0, b.run())
		kinds := map[any]any{}
		for _, e := range b.server.Of("agent.file_edited") {
			kinds[e.Data["file_path"]] = e.Data["change_type"]
			require.Equal(t, e.Data["file_path"] == "binary", e.Data["binary"], e.Data["file_path"])
			switch e.Data["file_path"] {
			case "README":
				require.Equal(t, "--- a/README\n+++ b/README\n@@ -1 +1 @@\n-hello\n+bye\n", e.Data["full_diff"])
				require.Equal(t, "t1", e.Data["tool_use_id"])
			case "moved":
				require.Equal(t, "long", e.Data["old_path"])
			}
		}
		require.Equal(t, map[any]any{
			"empty": "modified", "moved": "renamed", "gone": "deleted", "binary": "created", "a/b/new": "created", "README": "modified", "last": "created",
		}, kinds)
		require.Len(t, b.server.Of("agent.file_edited"), len(kinds), "each once")
	})
}

func TestAgents_Budget(t *testing.T) {
	act{
		command: stray + `event agent.assistant_message '{"total_cost_usd":0.6}'; deaf`,
		claude:  stray + bashTool + `call t1 200000; answer t1; deaf`,
		acp:     stray + `costs 0.6; deaf`,
	}.both(t, func(t *testing.T, b *box) {
		b.cfg.Env["MAX_BUDGET_USD"] = "0.5"
		require.Equal(t, 1, b.run())
		failed := b.one("agent.error")
		require.Equal(t, []any{"stopped", "max_budget", "max_cost_reached"}, []any{failed["failure_class"], failed["error_type"], failed["stop_reason"]})
		require.Contains(t, failed["error"], "MAX_BUDGET_USD")
		require.Greater(t, failed["cost_usd"], 0.5)
	})
}

// TestAgents_Limits checks that the limits of continuous mode also apply within an iteration.
func TestAgents_Limits(t *testing.T) {
	cases := map[string]struct {
		act

		env         map[string]string
		stop        string
		done, fails int
	}{
		"cost": {
			act{stray + `event agent.assistant_message '{"total_cost_usd":0.6}'; deaf`, stray + bashTool + `call t1 200000; answer t1; deaf`, stray + `costs 0.6; deaf`},
			map[string]string{"MAX_TOTAL_COST_USD": "0.5"},
			"max_cost_reached", 0, 0,
		},
		"time":   {act{"says hm; sleep 1000", "sleep 1000", "sleep 1000"}, map[string]string{"MAX_DURATION_SECONDS": "2"}, "max_duration_reached", 0, 0},
		"errors": {act{"says hm; exit 7", `result true no; exit 1`, `fails no; exit 1`}, map[string]string{"MAX_CONSECUTIVE_ERRORS": "2"}, "consecutive_errors", 0, 2},
		"rounds": {
			act{"says hm", `result false TASK_COMPLETE; while read -r said; do replay; result false TASK_COMPLETE; done`, `while :; do result TASK_COMPLETE; hear; done`},
			map[string]string{"MAX_ITERATIONS": "2"},
			"max_iterations_reached", 2, 0,
		},
	}
	t.Parallel()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.both(t, func(t *testing.T, b *box) {
				b.cfg.Continuous, b.cfg.TestCommand = true, "false"
				maps.Copy(b.cfg.Env, c.env)
				require.Equal(t, 1, b.run())
				over := b.one("continuous.completed")
				require.Equal(t, []any{c.stop, false}, []any{over["stop_reason"], over["validation_passed"]})
				why := "Failed rounds in a row: 2. The last one: "
				for name := range c.env {
					if c.fails == 0 {
						why = name + " in env of execution_config"
					}
				}
				require.Contains(t, over["error"], why)
				b.one("continuous.started")
				require.Len(t, b.server.Of("iteration.started"), max(1, c.done+c.fails))
				require.Len(t, b.server.Of("iteration.completed"), c.done)
				require.Len(t, b.server.Of("iteration.failed"), c.fails)
				require.Empty(t, b.server.Of("agent.error"))
				require.Empty(t, b.server.Of("agent.completed"))
			})
		})
	}
}

// TestAgents_Iterate checks that an iteration which does not pass is followed by another one, with the reason.
func TestAgents_Iterate(t *testing.T) {
	act{
		command: `case "$OMOI_FEEDBACK" in *'test command failed'*) touch passed;; esac; says done`,
		claude:  `result false TASK_COMPLETE; read -r said; replay; case "$said" in *'test command failed'*) touch passed;; esac; result false TASK_COMPLETE; cat > /dev/null`,
		acp:     `result TASK_COMPLETE; hear; case "$said" in *'test command failed'*) touch passed;; esac; result TASK_COMPLETE; hear`,
	}.both(t, func(t *testing.T, b *box) {
		b.cfg.Continuous, b.cfg.TestCommand = true, "test -e passed"
		b.cfg.Env["REQUIRE_CLEAN_GIT"] = "false"
		require.Equal(t, 0, b.run())
		judged := b.server.Of("iteration.validation")
		require.Len(t, judged, 2)
		require.Equal(t, []any{false, true}, []any{judged[0].Data["passed"], judged[1].Data["passed"]})
		done := b.one("continuous.completed")
		require.Equal(t, []any{"validation_passed", true, true, 2.0, 2.0}, []any{
			done["stop_reason"], done["validation_passed"], done["tests_passed"], done["iteration_num"], done["successful_iterations"],
		})
		require.Len(t, b.server.Of("iteration.started"), 2)
		b.one("agent.completed")
	})
}

// TestAgents_CompleteWithWork checks that an implementation is complete only with work, and that exploration and
// validation are complete with text.
func TestAgents_CompleteWithWork(t *testing.T) {
	idle := act{command: "says 'All done.'", claude: `result false 'All done. TASK_COMPLETE'; cat > /dev/null`, acp: `result 'All done. TASK_COMPLETE'; hear`}
	t.Parallel()
	t.Run("once", func(t *testing.T) {
		idle.both(t, func(t *testing.T, b *box) {
			delete(b.cfg.Env, wantsNoCommit)
			require.Equal(t, 1, b.run())
			failed := b.one("agent.error")
			require.Equal(t, []any{"agent_error", "nothing_done"}, []any{failed["failure_class"], failed["error_type"]})
			require.Contains(t, failed["error"], "branch feature/x has no commit of this task")
			require.Empty(t, b.server.Of("agent.completed"))
		})
	})
	t.Run("in rounds", func(t *testing.T) {
		idle.both(t, func(t *testing.T, b *box) {
			delete(b.cfg.Env, wantsNoCommit)
			b.cfg.Continuous, b.cfg.Env["MAX_ITERATIONS"] = true, "1"
			require.Equal(t, 1, b.run())
			require.Equal(t, false, b.one("iteration.validation")["passed"])
			require.Contains(t, b.one("iteration.validation")["feedback"], "No work found")
			require.Equal(t, "max_iterations_reached", b.one("continuous.completed")["stop_reason"])
		})
	})
	t.Run("on a history that was rewritten", func(t *testing.T) {
		const orphan = `git checkout -q --orphan other; git commit -q --allow-empty -m x; git branch -qM feature/x; `
		act{orphan + idle.command, orphan + idle.claude, orphan + idle.acp}.both(t, func(t *testing.T, b *box) {
			delete(b.cfg.Env, wantsNoCommit)
			require.Equal(t, 1, b.run())
			require.Contains(t, b.one("agent.error")["error"], "The history of the branch feature/x was rewritten")
		})
	})
	for _, mode := range []string{"exploration", "validation"} {
		t.Run(mode, func(t *testing.T) {
			idle.both(t, func(t *testing.T, b *box) {
				delete(b.cfg.Env, wantsNoCommit)
				b.cfg.Mode = mode
				require.Equal(t, 0, b.run())
				require.Equal(t, true, b.one("agent.completed")["success"])
			})
		})
	}
	t.Run("with work", func(t *testing.T) {
		const work = "git commit -q --allow-empty -m work; "
		act{work + idle.command, work + idle.claude, work + idle.acp}.both(t, func(t *testing.T, b *box) {
			delete(b.cfg.Env, wantsNoCommit)
			require.Equal(t, 0, b.run())
			require.Equal(t, true, b.one("agent.completed")["code_committed"])
		})
	})
}

func TestAgents_Killed(t *testing.T) {
	act{command: "says hm; kill -9 $$", claude: "kill -9 $$", acp: "kill -9 $$"}.both(t, func(t *testing.T, b *box) {
		require.Equal(t, 1, b.run())
		require.Equal(t, "infrastructure", b.one("agent.error")["failure_class"])
	})
}

// TestAgents_Restart checks that the next attempt gets the transcript, and that an agent which was stopped from outside
// starts again.
func TestAgents_Restart(t *testing.T) {
	act{
		command: `says 'The answer is 42.'; [ -e begun ] && exit; touch begun; sleep 1000`,
		claude: `
dir="$CLAUDE_CONFIG_DIR/projects/$(pwd -P | sed 's/[^A-Za-z0-9]/-/g')"; mkdir -p "$dir"
while [ $# -gt 0 ]; do case "$1" in --session-id|--resume) session=$2;; esac; shift; done
echo '{"said":"The answer is 42."}' >> "$dir/$session.jsonl"
if [ -e begun ]; then result false 'The answer is 42.'; cat > /dev/null; exit; fi; touch begun; sleep 1000`,
		acp: `[ -e begun ] && { result 'The answer is 42.'; hear; }; touch begun; text 'The answer is 42.'; sleep 1000`,
	}.both(t, func(t *testing.T, b *box) {
		cmd, wait := b.start()
		waitExists(t, b.at("begun"))
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		require.Equal(t, 0, wait().ExitCode())
		require.Empty(t, b.server.Of("agent.completed"))
		require.Equal(t, 0, b.run())
		require.Equal(t, true, b.server.Of("agent.started")[1].Data["is_resuming"])
		require.Equal(t, "The answer is 42.", b.one("agent.completed")["final_output"])
		_, kept := b.transcript()
		require.Equal(t, 2, strings.Count(kept.Content, "The answer is 42."))
	})
}

// described checks at the end that the event catalog describes the events of a script's agent. A program may send
// fields of its own.
func (b *box) described() *box {
	b.t.Cleanup(func() {
		if b.cfg.Runtime == "scripted" {
			b.server.RequireDescribed(b.t)
		}
	})
	return b
}
