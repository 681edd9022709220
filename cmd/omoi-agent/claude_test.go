//nolint:paralleltest,thelper // eachVersion runs them in parallel, as tests of their own
package main_test

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/claude"
	agenttest "github.com/omoi-dev/omoi/internal/testkit/agent"
	claudetest "github.com/omoi-dev/omoi/internal/testkit/claude"
	modeltest "github.com/omoi-dev/omoi/internal/testkit/model"
)

// eachVersion runs a test with every pinned version of the real program.
func eachVersion(t *testing.T, test func(t *testing.T, path string)) {
	t.Helper()
	t.Parallel()
	for _, version := range claudetest.Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(t, claudetest.Install(t, version))
		})
	}
}

// claudeBox returns a sandbox in which Claude Code works with a scripted model.
func claudeBox(t *testing.T, path string, turns ...modeltest.Turn) (*box, *modeltest.Server) {
	t.Helper()
	b, model := newBox(t, ""), modeltest.New(t, turns...)
	b.cfg.Runtime, b.cfg.Transcript = "claude", 50*time.Millisecond
	b.cfg.Env = map[string]string{
		claude.Bin: path, "ANTHROPIC_BASE_URL": model.URL, "ANTHROPIC_API_KEY": "sk-planted-model-key", "HOME": t.TempDir(), "TMPDIR": t.TempDir(),
		"CLAUDE_CODE_MAX_RETRIES": "2", wantsNoCommit: "false",
	}
	return b, model
}

func bash(command string) modeltest.Tool {
	return modeltest.Tool{Name: "Bash", Input: map[string]any{"command": command}}
}

func (b *box) at(name string) string { return filepath.Join(b.cfg.Workspace, name) }

// told returns a channel that closes when an event of this type arrives, or when the test ends.
func (b *box) told(kind string) <-chan struct{} {
	over, ticker := make(chan struct{}), time.NewTicker(time.Millisecond)
	go func() {
		defer close(over)
		defer ticker.Stop()
		for len(b.server.Of(kind)) == 0 && b.t.Context().Err() == nil {
			<-ticker.C
		}
	}()
	return over
}

func TestClaude_CompletesTask(t *testing.T) {
	eachVersion(t, func(t *testing.T, path string) {
		b, model := claudeBox(t, path)
		b.git(b.host, "branch", "-f", "feature/x")
		model.Add(
			modeltest.Turn{
				Thinking: "Let me see.", Text: "I write it.", Expect: modeltest.Saying("What to do"),
				Tools: []modeltest.Tool{{Name: "Write", Input: map[string]any{"file_path": b.at("sum.sh"), "content": "echo $((6*7))\n"}}},
			},
			modeltest.Turn{Hold: b.told("agent.file_edited"), Tools: []modeltest.Tool{{Name: "Read", Input: map[string]any{"file_path": b.at("sum.sh")}}}},
			modeltest.Turn{Tools: []modeltest.Tool{{Name: "Edit", Input: map[string]any{"file_path": b.at("sum.sh"), "old_string": "6*7", "new_string": "6*7*1000"}}}},
			modeltest.Turn{Tools: []modeltest.Tool{bash("sh sum.sh; git mv README README.md; printf '\\0\\1' > bin; head -c 20000 /dev/zero | tr '\\0' x")}},
			modeltest.Turn{Tools: []modeltest.Tool{bash("git add -A && git commit -qm 'Add a sum' && git push -q origin HEAD")}, Expect: modeltest.Saying("42000")},
			modeltest.Turn{Text: "It prints 42000."},
		)
		require.Equal(t, 0, b.run())
		require.Equal(t, "claude", b.one("agent.started")["runtime"])
		edits := b.server.Of("agent.file_edited")
		require.Len(t, edits, 4)
		require.Equal(t, "created", edits[0].Data["change_type"])
		require.Equal(t, "--- a/sum.sh\n+++ b/sum.sh\n@@ -1 +1 @@\n-echo $((6*7))\n+echo $((6*7*1000))\n", edits[1].Data["full_diff"])
		require.Equal(t, true, edits[3].Data["binary"].(bool) || edits[2].Data["binary"].(bool))
		results := b.server.Of("agent.tool_result")
		require.Len(t, results, 5)
		require.Equal(t, true, results[3].Data["result_truncated"])
		require.Greater(t, results[3].Data["result_full_length"], float64(19000))
		require.Equal(t, "Let me see.", b.one("agent.thinking")["content"])
		done := b.one("agent.completed")
		require.Equal(t, "It prints 42000.", done["final_output"])
		for key, want := range map[string]any{"success": true, "code_committed": true, "code_pushed": true, "turns": 6.0, "input_tokens": 6000.0, "output_tokens": 60.0} {
			require.Equal(t, want, done[key], key)
		}
		require.Positive(t, done["cost_usd"])
		require.NotContains(t, done, "cost_estimated")
		for i, said := range b.server.Of("agent.assistant_message") {
			require.EqualValues(t, 1000*(i+1), said.Data["total_usage"].(map[string]any)["input_tokens"])
			require.EqualValues(t, i+1, said.Data["turn"])
		}
		_, kept := b.transcript()
		require.Contains(t, kept.Content, "It prints 42000.")
		require.NotContains(t, kept.Content, "sk-planted-model-key")
		require.Equal(t, "complete", b.one("agent.shutdown")["reason"])
	})
}

// TestClaude_Message sends a message while a tool runs, which joins the current turn, and one during the last answer,
// which starts another turn.
func TestClaude_Message(t *testing.T) {
	eachVersion(t, func(t *testing.T, path string) {
		hold, begun := make(chan struct{}), make(chan struct{})
		b, _ := claudeBox(
			t, path,
			modeltest.Turn{Tools: []modeltest.Tool{bash("touch begun; while [ ! -e go ]; do python3 -c 'import time; time.sleep(0.02)'; done")}},
			modeltest.Turn{Text: "First.", Expect: modeltest.Saying("use tabs"), Hold: hold, Begun: begun},
			modeltest.Turn{Text: "Second.", Expect: modeltest.Saying("and spaces")},
		)
		_, wait := b.start()
		b.server.Wait(t, agenttest.Has("agent.tool_use", 1))
		b.server.Say(agenttest.Message{ID: "m1", Content: "use tabs", Type: "user_message"})
		b.server.Wait(t, agenttest.Has("agent.message_injected", 1))
		waitUsedBy(t, b, "begun")
		<-begun
		b.server.Say(agenttest.Message{ID: "m2", Content: "and spaces", Type: "guardian_nudge", SenderKind: "guardian"})
		b.server.Wait(t, agenttest.Has("agent.message_injected", 2))
		close(hold)
		require.Equal(t, 0, wait().ExitCode())
		said := b.server.Of("agent.message")
		require.Equal(t, []any{"First.", "m1"}, []any{said[0].Data["content"], said[0].Data["in_reply_to"]})
		require.Equal(t, []any{"Second.", "m2"}, []any{said[1].Data["content"], said[1].Data["in_reply_to"]})
		require.Equal(t, "Second.", b.one("agent.completed")["final_output"])
		b.used("m1")
		b.used("m2")
	})
}

// TestClaude_Slash checks that a task or message with a leading slash is text, and not a command of the program.
func TestClaude_Slash(t *testing.T) {
	eachVersion(t, func(t *testing.T, path string) {
		b, _ := claudeBox(
			t, path, modeltest.Turn{Tools: []modeltest.Tool{bash("touch begun; while [ ! -e go ]; do python3 -c 'import time; time.sleep(0.02)'; done")}, Expect: modeltest.Saying("/health answers 500")},
			modeltest.Turn{Text: "Done.", Expect: modeltest.Saying("/compact it")},
		)
		b.cfg.Title, b.cfg.Description = "/health answers 500", "/health answers 500"
		_, wait := b.start()
		b.server.Wait(t, agenttest.Has("agent.tool_use", 1))
		b.server.Say(agenttest.Message{ID: "m1", Content: "/compact it", Type: "user_message"})
		b.server.Wait(t, agenttest.Has("agent.message_injected", 1))
		waitUsedBy(t, b, "begun")
		require.Equal(t, 0, wait().ExitCode())
		b.used("m1")
	})
}

// waitUsedBy lets the tool continue when the message was sent to the program.
func waitUsedBy(t *testing.T, b *box, mark string) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := os.Stat(b.at(mark))
		return err == nil
	}, 30*time.Second, 5*time.Millisecond)
	require.NoError(t, os.WriteFile(b.at("go"), nil, 0o600))
}

// TestClaude_Interrupt checks that an interrupt during a turn stops the tool and is reported once, and that the agent
// waits for a message.
func TestClaude_Interrupt(t *testing.T) {
	eachVersion(t, func(t *testing.T, path string) {
		b, _ := claudeBox(
			t, path,
			modeltest.Turn{Text: "Long.", Tools: []modeltest.Tool{bash("echo $$ > pid; python3 -c 'import time; time.sleep(1000)'")}},
			modeltest.Turn{Text: "Something else.", Expect: modeltest.Saying("do something else")},
		)
		_, wait := b.start()
		pid := waitFile(t, b.at("pid"))
		b.server.Say(agenttest.Message{ID: "m1", Content: "enough", Type: "interrupt"})
		begun := time.Now()
		b.server.Wait(t, agenttest.Has("agent.interrupted", 1))
		t.Logf("interrupted within %s", time.Since(begun))
		b.server.Wait(t, agenttest.Has("agent.waiting", 1))
		require.Eventually(t, func() bool { // the program kills its tool itself, a moment later
			_, err := os.Stat("/proc/" + pid)
			return err != nil
		}, 30*time.Second, 5*time.Millisecond)
		b.server.Say(agenttest.Message{ID: "m2", Content: "do something else", Type: "user_message"})
		require.Equal(t, 0, wait().ExitCode())
		require.Equal(t, []any{"enough", "m1"}, []any{b.one("agent.interrupted")["reason"], b.one("agent.interrupted")["message_id"]})
		require.Equal(t, "Something else.", b.one("agent.completed")["final_output"])
		b.used("m1")
		b.used("m2")
	})
}

func TestClaude_InterruptWithoutMessage(t *testing.T) {
	eachVersion(t, func(t *testing.T, path string) {
		hold, begun := make(chan struct{}), make(chan struct{})
		b, _ := claudeBox(t, path, modeltest.Turn{Text: "Never said.", Hold: hold, Begun: begun})
		b.cfg.Idle = time.Second
		_, wait := b.start()
		<-begun
		b.server.Say(agenttest.Message{ID: "m1", Content: "enough", Type: "interrupt"})
		require.Equal(t, 1, wait().ExitCode())
		close(hold)
		require.Equal(t, "stopped", b.one("agent.error")["failure_class"])
		b.one("agent.interrupted")
	})
}

// TestClaude_ResumesAfterKill checks that the next attempt, in another sandbox, resumes the session of a killed one.
func TestClaude_ResumesAfterKill(t *testing.T) {
	eachVersion(t, func(t *testing.T, path string) {
		first, _ := claudeBox(
			t, path, modeltest.Turn{Text: "The answer is 42.", Tools: []modeltest.Tool{bash("echo one > one")}},
			modeltest.Turn{Text: "Sleeping.", Tools: []modeltest.Tool{bash("echo $$ > pid; python3 -c 'import time; time.sleep(1000)'")}},
		)
		cmd, wait := first.start()
		shell := waitFile(t, first.at("pid"))
		program := parentOf(t, shell)
		first.server.Wait(t, func([]agenttest.Event) bool {
			for _, kept := range first.server.Transcripts() {
				return strings.Contains(kept.Content, "The answer is 42.")
			}
			return false
		})
		require.NoError(t, cmd.Process.Signal(syscall.SIGKILL))
		wait()
		require.Eventually(t, func() bool { return gone(program) }, 30*time.Second, 5*time.Millisecond, "it would go on asking the model")
		end(t, shell)
		_, kept := first.transcript()

		b, _ := claudeBox(t, path, modeltest.Turn{Text: "I remember.", Expect: modeltest.Saying("The answer is 42.", "What to do", "cut off")})
		b.server.Keep("earlier", kept.Content)
		b.cfg.Attempt, b.cfg.Resume = 2, &agentconfig.Resume{RunID: "earlier", SessionID: kept.SessionID, Attempt: 1}
		require.Equal(t, 0, b.run())
		require.Equal(t, kept.SessionID, b.one("agent.started")["resumed_session_id"])
		done := b.one("agent.completed")
		require.Equal(t, kept.SessionID, done["session_id"])
		require.EqualValues(t, 1000, done["input_tokens"], "this attempt's own")
		require.Less(t, done["cost_usd"], 0.008, "this attempt's own")
		_, now := b.transcript()
		require.Contains(t, now.Content, "The answer is 42.")
		require.Contains(t, now.Content, "I remember.")
		require.Empty(t, b.server.Of("agent.resume_failed"))
	})
}

// TestClaude_ResumesInAnotherFolder moves the next attempt to a workspace path of more than 200 characters: a file that
// the agent wrote still counts as read.
func TestClaude_ResumesInAnotherFolder(t *testing.T) {
	eachVersion(t, func(t *testing.T, path string) {
		first, model := claudeBox(t, path)
		model.Add(
			modeltest.Turn{Tools: []modeltest.Tool{{Name: "Write", Input: map[string]any{"file_path": first.at("a.txt"), "content": "hello\n"}}}},
			modeltest.Turn{Tools: []modeltest.Tool{bash("seq 100000")}},
			modeltest.Turn{Text: "I wrote it."},
		)
		require.Equal(t, 0, first.run())
		run, kept := first.transcript()

		b, model := claudeBox(t, path)
		b.cfg.Workspace = filepath.Join(filepath.Dir(b.cfg.Workspace), strings.Repeat("long.name/", 20), "ws")
		b.cfg.Setup = "echo hello > a.txt"
		b.server.Keep("earlier", kept.Content)
		b.server.Keep("earlier.beside", first.server.Transcripts()[run+".beside"].Content)
		b.cfg.Attempt, b.cfg.Resume = 2, &agentconfig.Resume{RunID: "earlier", SessionID: kept.SessionID, Attempt: 1}
		model.Add(
			modeltest.Turn{
				Expect: modeltest.Saying("I wrote it."),
				Tools:  []modeltest.Tool{{Name: "Edit", Input: map[string]any{"file_path": b.at("a.txt"), "old_string": "hello", "new_string": "bye"}}},
			},
			modeltest.Turn{Text: "Done."},
		)
		require.Equal(t, 0, b.run())
		require.Empty(t, b.server.Of("agent.resume_failed"))
		_, now := b.transcript()
		require.NotContains(t, now.Content, "not been read")
		require.NotContains(t, now.Content, first.cfg.Workspace)
		require.NotContains(t, now.Content, first.cfg.Dir+"/claude/projects/")
		results, err := filepath.Glob(filepath.Join(b.cfg.Dir, "claude/projects/*", kept.SessionID, "tool-results/*"))
		require.NoError(t, err)
		require.Len(t, results, 1)
		require.Contains(t, now.Content, results[0], "the session names the output that is too large for a transcript")
		output, err := os.ReadFile(results[0])
		require.NoError(t, err)
		require.Contains(t, string(output), "\n99999\n100000")
		text, err := os.ReadFile(b.at("a.txt"))
		require.NoError(t, err)
		require.Equal(t, "bye\n", string(text))
	})
}

// end kills the shell of a tool that a killed agent leaves behind, as the end of its sandbox would.
func end(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(pid)
	require.NoError(t, err)
	_ = syscall.Kill(n, syscall.SIGKILL)
}

// parentOf returns the parent of a process.
func parentOf(t *testing.T, pid string) string {
	t.Helper()
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(text), ") ")
	return strings.Fields(rest)[1]
}

// TestClaude_ResumesAfterRestart checks that a restarted agent in the same sandbox resumes the session.
func TestClaude_ResumesAfterRestart(t *testing.T) {
	eachVersion(t, func(t *testing.T, path string) {
		hold, begun := make(chan struct{}), make(chan struct{})
		b, model := claudeBox(t, path, modeltest.Turn{Text: "The answer is 42.", Tools: []modeltest.Tool{bash("true")}}, modeltest.Turn{Hold: hold, Begun: begun})
		cmd, wait := b.start()
		<-begun
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		require.Equal(t, 0, wait().ExitCode())
		require.Equal(t, "sigterm", b.one("agent.shutdown")["reason"])
		close(hold)
		model.Add(modeltest.Turn{Text: "Done.", Expect: modeltest.Saying("The answer is 42.", "cut off")})
		require.Equal(t, 0, b.run())
		done := b.one("agent.completed")
		require.Equal(t, "Done.", done["final_output"])
		require.EqualValues(t, 2000, done["input_tokens"], "of both processes, each once")
		require.Equal(t, true, done["cost_estimated"], "the first one did not say what it cost")
	})
}

func TestClaude_Failures(t *testing.T) {
	reset := time.Now().Add(time.Hour).Truncate(time.Second)
	limited := http.Header{
		"Anthropic-Ratelimit-Unified-Status": {"rejected"}, "Anthropic-Ratelimit-Unified-Reset": {strconv.FormatInt(reset.Unix(), 10)},
		"Anthropic-Ratelimit-Unified-Representative-Claim": {"five_hour"},
	}
	cases := map[string]struct {
		turns []modeltest.Turn
		env   map[string]string
		class string
		says  string
	}{
		"limit":       {[]modeltest.Turn{{Status: 429, Header: limited}}, map[string]string{"CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-planted"}, "provider_limit", "limit"},
		"key's limit": {[]modeltest.Turn{{Status: 429, Header: http.Header{"Retry-After": {"7200"}}}}, nil, "provider_limit", "429"},
		"overloaded":  {modeltest.Times(3, modeltest.Turn{Status: 529}), nil, "provider_limit", "529"},
		"key":         {modeltest.Times(3, modeltest.Turn{Status: 401, Error: "invalid x-api-key"}), nil, "credentials", "API key"},
		"credit":      {[]modeltest.Turn{{Status: 400, Error: "Your credit balance is too low to access the Anthropic API."}}, nil, "credentials", "redit balance"},
		"server":      {modeltest.Times(3, modeltest.Turn{Status: 500}), nil, "infrastructure", "500"},
		"down":        {modeltest.Times(3, modeltest.Turn{Cut: modeltest.CutBefore}), nil, "infrastructure", ""},
		"bad request": {[]modeltest.Turn{{Status: 400, Error: "prompt is too long"}}, nil, "agent_error", "too long"},
		"turns":       {[]modeltest.Turn{{Tools: []modeltest.Tool{bash("true")}}}, map[string]string{"MAX_TURNS": "1"}, "stopped", "MAX_TURNS"},
		"budget":      {[]modeltest.Turn{{Usage: modeltest.Usage{Input: 900_000}, Tools: []modeltest.Tool{bash("touch ran")}}}, map[string]string{"MAX_BUDGET_USD": "0.5"}, "stopped", "MAX_BUDGET_USD"},
	}
	eachVersion(t, func(t *testing.T, path string) {
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				b, _ := claudeBox(t, path, c.turns...)
				maps.Copy(b.cfg.Env, c.env)
				require.Equal(t, 1, b.run())
				failed := b.one("agent.error")
				require.Equal(t, c.class, failed["failure_class"], failed["error"])
				require.Contains(t, failed["error"], c.says)
				if name == "limit" {
					require.Equal(t, reset.UTC().Format(time.RFC3339), failed["reset_at"])
				}
			})
		}
	})
}

// TestClaude_Budget checks that processes of an attempt share its budget and turns.
func TestClaude_Budget(t *testing.T) {
	eachVersion(t, func(t *testing.T, path string) {
		turn := modeltest.Turn{Text: "Said.", Usage: modeltest.Usage{Input: 300_000}}
		b, model := claudeBox(t, path, turn, turn)
		model.Add(modeltest.Turn{Usage: turn.Usage, Tools: []modeltest.Tool{bash("touch ran")}})
		maps.Copy(b.cfg.Env, map[string]string{"MODEL": "claude-sonnet-4-5", "MAX_TURNS": "4", "MAX_BUDGET_USD": "2.2"})
		b.cfg.WaitForMessages = true
		_, wait := b.start()
		for n, id := range []string{"m1", "m2"} {
			b.server.Wait(t, agenttest.Has("agent.waiting", n+1))
			b.server.Say(agenttest.Message{ID: id, Content: "more", Type: "user_message"})
		}
		require.Equal(t, 1, wait().ExitCode())
		failed := b.one("agent.error")
		require.Equal(t, []any{"stopped", "max_cost_reached"}, []any{failed["failure_class"], failed["stop_reason"]}, failed["error"])
		require.InDelta(t, 2.7, failed["cost_usd"], 0.01)
		require.EqualValues(t, 900_000, failed["input_tokens"])
	})
}

// TestClaude_Outage checks that a temporary outage of the model endpoint costs time only.
func TestClaude_Outage(t *testing.T) {
	eachVersion(t, func(t *testing.T, path string) {
		turns := modeltest.Times(4, modeltest.Turn{Cut: modeltest.CutBefore})
		turns = append(turns, modeltest.Turn{Text: "A long answer that is cut.", Cut: modeltest.CutReset}, modeltest.Turn{Text: "Whole."})
		b, _ := claudeBox(t, path, turns...)
		delete(b.cfg.Env, "CLAUDE_CODE_MAX_RETRIES")
		require.Equal(t, 0, b.run())
		done := b.one("agent.completed")
		require.Equal(t, "Whole.", done["final_output"])
		retried := 0
		for _, e := range b.server.Of("agent.system_message") {
			if e.Data["subtype"] == "api_retry" {
				retried++
			}
		}
		require.GreaterOrEqual(t, retried, 4)
	})
}

// TestClaude_KillsLeftOverProcesses checks that a process which a tool leaves in its own session is killed with the
// agent.
func TestClaude_KillsLeftOverProcesses(t *testing.T) {
	eachVersion(t, func(t *testing.T, path string) {
		b, _ := claudeBox(
			t, path, modeltest.Turn{Tools: []modeltest.Tool{bash("(setsid sh -c 'echo $$ > pid; trap \"\" TERM HUP; exec python3 -c \"import time; time.sleep(1000)\"' > /dev/null 2>&1 &) ; while [ ! -s pid ]; do :; done; echo left")}},
			modeltest.Turn{Text: "Done."},
		)
		require.Equal(t, 0, b.run())
		require.NoDirExists(t, "/proc/"+waitFile(t, b.at("pid")))
		require.Positive(t, b.one("agent.shutdown")["killed_processes"])
	})
}

func TestClaude_WaitsForMessages(t *testing.T) {
	eachVersion(t, func(t *testing.T, path string) {
		b, _ := claudeBox(t, path, modeltest.Turn{Text: "First."}, modeltest.Turn{Text: "More.", Expect: modeltest.Saying("and more")})
		b.cfg.WaitForMessages, b.cfg.Idle = true, 6*time.Second
		_, wait := b.start()
		b.server.Wait(t, agenttest.Has("agent.waiting", 1))
		b.server.Say(agenttest.Message{ID: "m1", Content: "and more", Type: "user_message"})
		b.server.Wait(t, agenttest.Has("agent.waiting", 2))
		require.Empty(t, b.server.Of("agent.completed"))
		require.Equal(t, 0, wait().ExitCode())
		require.Equal(t, "More.", b.one("agent.completed")["final_output"])
	})
}

// TestClaude_Continuous checks that continuous mode iterates until the work is clean, pushed and tested.
func TestClaude_Continuous(t *testing.T) {
	eachVersion(t, func(t *testing.T, path string) {
		b, _ := claudeBox(
			t, path,
			modeltest.Turn{Tools: []modeltest.Tool{bash("echo x > f")}, Expect: modeltest.Saying("TASK_COMPLETE")},
			modeltest.Turn{Text: "TASK_COMPLETE"},
			modeltest.Turn{Tools: []modeltest.Tool{bash("git add f && git commit -qm f")}, Expect: modeltest.Saying("Not committed")},
			modeltest.Turn{Text: "TASK_COMPLETE"},
			modeltest.Turn{Tools: []modeltest.Tool{bash("git push -q origin HEAD")}, Expect: modeltest.Saying("Not pushed")},
			modeltest.Turn{Text: "Pushed.\nTASK_COMPLETE"},
		)
		b.cfg.Continuous, b.cfg.TestCommand = true, "grep -q x f"
		delete(b.cfg.Env, wantsNoCommit)
		require.Equal(t, 0, b.run())
		done := b.one("continuous.completed")
		require.Equal(t, []any{"validation_passed", true, true, 3.0}, []any{done["stop_reason"], done["validation_passed"], done["tests_passed"], done["iteration_num"]})
		require.Len(t, b.server.Of("iteration.validation"), 3)
		require.Len(t, b.server.Of("iteration.completed"), 3)
	})
}

func TestClaude_Subagents(t *testing.T) {
	eachVersion(t, func(t *testing.T, path string) {
		b, model := claudeBox(
			t, path, modeltest.Turn{Tools: []modeltest.Tool{{Name: "Task", Input: map[string]any{"description": "look", "prompt": "look around", "subagent_type": "general-purpose", "run_in_background": false}}}},
			modeltest.Turn{Text: "Done."},
		)
		model.Below(modeltest.Turn{Text: "Looking.", Tools: []modeltest.Tool{bash("echo below > below")}}, modeltest.Turn{Text: "All looked at."})
		require.Equal(t, 0, b.run())
		require.Equal(t, "general-purpose", b.one("agent.subagent_invoked")["subagent_type"])
		require.Contains(t, b.one("agent.subagent_completed")["subagent_result"], "All looked at.")
		require.Equal(t, "below", b.one("agent.file_edited")["file_path"])
		require.EqualValues(t, 4000, b.one("agent.completed")["input_tokens"])
		require.EqualValues(t, 2, b.one("agent.completed")["turns"])
	})
}

// TestClaude_Credentials checks that each credential is used alone and correctly, and that an endpoint may have a path.
func TestClaude_Credentials(t *testing.T) {
	cases := map[string]struct{ env, want map[string]string }{
		"key":          {map[string]string{"ANTHROPIC_API_KEY": "sk-one"}, map[string]string{"X-Api-Key": "sk-one", "Authorization": ""}},
		"bearer":       {map[string]string{"ANTHROPIC_AUTH_TOKEN": "sk-two"}, map[string]string{"X-Api-Key": "", "Authorization": "Bearer sk-two"}},
		"subscription": {map[string]string{"CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-three", "ANTHROPIC_API_KEY": "sk-one"}, map[string]string{"X-Api-Key": "", "Authorization": "Bearer sk-ant-oat01-three"}},
	}
	eachVersion(t, func(t *testing.T, path string) {
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				b, model := claudeBox(t, path, modeltest.Turn{Text: "Done."})
				delete(b.cfg.Env, "ANTHROPIC_API_KEY")
				maps.Copy(b.cfg.Env, c.env)
				b.cfg.Env["ANTHROPIC_BASE_URL"], b.cfg.Env["MODEL"] = model.URL+"/api/anthropic", "glm-4.6"
				require.Equal(t, 0, b.run())
				asked := model.Requests()[0]
				require.Equal(t, []string{"/api/anthropic/v1/messages", "glm-4.6"}, []string{asked.Path, asked.Model})
				for header, want := range c.want {
					require.Equal(t, want, asked.Header.Get(header), header)
				}
				require.Equal(t, "glm-4.6", b.one("agent.completed")["model"])
			})
		}
	})
}

// TestClaude_Skills checks that a skill of the repository is offered, and its use reported.
func TestClaude_Skills(t *testing.T) {
	eachVersion(t, func(t *testing.T, path string) {
		b, model := claudeBox(t, path)
		skill := modeltest.Tool{Name: "Skill", Input: map[string]any{"skill": "adding"}}
		b.cfg.Setup = "mkdir -p .claude/skills/adding && printf -- '---\\nname: adding\\ndescription: adds numbers\\n---\\nAdd them by heart.\\n' > .claude/skills/adding/SKILL.md"
		model.Add(modeltest.Turn{Tools: []modeltest.Tool{skill}}, modeltest.Turn{Text: "Done.", Expect: modeltest.Saying("Add them by heart.")})
		require.Equal(t, 0, b.run())
		require.Equal(t, "adding", b.one("agent.skill_invoked")["skill_name"])
		require.Equal(t, "adding", b.one("agent.skill_completed")["skill_name"])
		require.Empty(t, b.server.Of("agent.file_edited"), "what setup did is not the agent's work")
	})
}

// TestClaude_ChangedFiles checks the kinds of changes by shell commands.
func TestClaude_ChangedFiles(t *testing.T) {
	eachVersion(t, func(t *testing.T, path string) {
		b, model := claudeBox(t, path)
		b.cfg.Setup = ": > empty; : > other; seq 100 > long; echo gone > gone"
		model.Add(
			modeltest.Turn{Tools: []modeltest.Tool{bash("echo x >> empty; mv long moved; rm gone; printf '\\0' > binary; mkdir -p a/b && echo new > a/b/new")}},
			modeltest.Turn{Tools: []modeltest.Tool{{Name: "Read", Input: map[string]any{"file_path": b.at("other")}}}},
			modeltest.Turn{Tools: []modeltest.Tool{{Name: "Write", Input: map[string]any{"file_path": b.at("other"), "content": "filled\n"}}}},
			modeltest.Turn{Text: "Done."},
		)
		require.Equal(t, 0, b.run())
		kinds := map[any]any{}
		for _, e := range b.server.Of("agent.file_edited") {
			kinds[e.Data["file_path"]] = e.Data["change_type"]
			require.Equal(t, e.Data["file_path"] == "binary", e.Data["binary"], e.Data["file_path"])
		}
		require.Equal(t, map[any]any{
			"empty": "modified", "moved": "renamed", "gone": "deleted", "binary": "created", "a/b/new": "created", "other": "modified",
		}, kinds)
	})
}
