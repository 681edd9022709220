//nolint:paralleltest,thelper // eachVersion runs them in parallel, as tests of their own
package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	agenttest "github.com/omoi-dev/omoi/internal/testkit/agent"
	modeltest "github.com/omoi-dev/omoi/internal/testkit/model"
)

// TestHook_OfAProgram checks the hook of the command runtime, as docs/CUSTOM-AGENTS.md describes it.
func TestHook_OfAProgram(t *testing.T) {
	t.Parallel()
	b := newBox(t, "")
	b.cfg.Runtime, b.cfg.Env, b.cfg.Accepted = "command", map[string]string{wantsNoCommit: "false"}, []byte(`{"forbidden_commands": ["npm publish"]}`)
	b.cfg.Command = []string{"sh", "-c", `
call() { printf '{"tool_name": "Bash", "tool_use_id": "%s", "cwd": "%s", "tool_input": {"command": "%s"}}' "$1" "$PWD" "$2" | sh -c "$OMOI_HOOK"; }
call 1 "npm test" || exit 3
call 2 "npm publish" 2> reason
test $? = 2 || exit 4
call 2 "git push --force origin main" || exit 7 # origin is a folder
call 3 "git push --force https://github.com/a/b main" 2>> reason
test $? = 2 || exit 5
mkfifo call
sh -c "$OMOI_HOOK" < call 2> /dev/null & hook=$!
exec 3> call
head -c 300000 /dev/zero | tr '\0' ' ' >&3 # more than a pipe holds, so that the hook runs
kill -QUIT $hook
wait $hook
test $? = 134 || exit 6 # a crash does not refuse
`}
	require.Equal(t, 0, b.run())
	require.Empty(t, b.server.Of("agent.tool_unchecked"))
	refused := b.server.Of("agent.tool_refused")
	require.Len(t, refused, 2)
	require.Equal(t, []any{"contract", "2", "npm publish", "irreversible", "3"},
		[]any{refused[0].Data["rule"], refused[0].Data["tool_use_id"], refused[0].Data["command"], refused[1].Data["rule"], refused[1].Data["tool_use_id"]})
	reason, err := os.ReadFile(b.at("reason"))
	require.NoError(t, err)
	require.Contains(t, string(reason), "Refused before it ran. The task contract says: Do not run these commands: `npm publish`.")
	require.NotContains(t, string(reason), "Do not wait", "this program reads no messages")
	require.Equal(t, false, refused[0].Data["can_be_allowed"])
}

// TestHook_UnusedRuntime checks that omoi-agent opens no hook for an agent that would not use it.
func TestHook_UnusedRuntime(t *testing.T) {
	t.Parallel()
	b := newBox(t, `{"steps": [{"bash": "echo \"hook: $OMOI_HOOK\" > seen"}]}`)
	b.cfg.Env = map[string]string{wantsNoCommit: "false"}
	require.Zero(t, b.run())
	seen, err := os.ReadFile(b.at("seen"))
	require.NoError(t, err)
	require.Equal(t, "hook: \n", string(seen))
	require.NoDirExists(t, filepath.Join(b.cfg.Dir, "hook"))
}

// TestHook_UnreadableContract checks that omoi reports a contract that the hook cannot read, and that the hook then checks the rest.
func TestHook_UnreadableContract(t *testing.T) {
	t.Parallel()
	b := newBox(t, "")
	b.cfg.Runtime, b.cfg.Env, b.cfg.Accepted = "command", map[string]string{wantsNoCommit: "false"}, []byte(`{"forbidden_commands": "npm publish"}`)
	b.cfg.Command = []string{"sh", "-c", `echo '{"tool_name": "Bash", "tool_input": {"command": "rm -rf /"}}' | sh -c "$OMOI_HOOK"; test $? = 2`}
	require.Zero(t, b.run())
	require.Contains(t, b.one("agent.tool_unchecked")["error"], "read the task contract: json: cannot unmarshal string")
	require.Equal(t, "irreversible", b.one("agent.tool_refused")["rule"])
}

// TestHook_LateRefusals checks refusals in the grace time, and those that a killed omoi-agent left.
func TestHook_LateRefusals(t *testing.T) {
	t.Parallel()
	b := newBox(t, "")
	b.cfg.Runtime, b.cfg.Env, b.cfg.Accepted = "command", map[string]string{wantsNoCommit: "false"}, []byte(`{"forbidden_commands": ["npm publish"]}`)
	const call = `{"tool_name": "Bash", "tool_input": {"command": "npm publish"}}`
	b.cfg.Command = []string{"sh", "-c", `
late() { trap '' TERM; echo '` + call + `' | sh -c "$OMOI_HOOK"; exit 0; }
trap late TERM
echo 1 > ready
while :; do sleep 0.1; done
`}
	cmd, wait := b.start()
	waitFile(t, b.at("ready"))
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 0, wait().ExitCode())
	require.Len(t, b.server.Of("agent.tool_refused"), 1)

	late := b.command("hook", "--dir", b.cfg.Dir)
	late.Stdin = strings.NewReader(call)
	require.Error(t, late.Run())
	require.EqualValues(t, 1, b.collect().Unsent)
	require.NoError(t, b.command("flush", "--config", filepath.Join(b.cfg.Dir, "agent.json")).Run())
	require.Len(t, b.server.Of("agent.tool_refused"), 2)
	require.Zero(t, b.collect().Unsent)
}

// TestClaude_Refused checks that the real program does not run a refused command, and that it runs once when a user allows that.
func TestClaude_Refused(t *testing.T) {
	eachVersion(t, func(t *testing.T, path string) {
		allowed := make(chan struct{})
		b, model := claudeBox(t, path)
		b.cfg.Accepted = []byte(`{"forbidden_commands": ["touch"], "forbidden_paths": ["go.mod"]}`)
		model.Add(
			modeltest.Turn{Tools: []modeltest.Tool{bash("cd . && touch made")}},
			modeltest.Turn{
				Tools:  []modeltest.Tool{{Name: "Write", Input: map[string]any{"file_path": b.at("go.mod"), "content": "x"}}},
				Expect: modeltest.Saying("The task contract says: Do not run these commands: `touch`."),
			},
			modeltest.Turn{Text: "I go on.", Expect: modeltest.Saying("Do not change these paths: `go.mod`."), Hold: allowed, Tools: []modeltest.Tool{bash("echo else > else")}},
			modeltest.Turn{Tools: []modeltest.Tool{bash("cd . && touch made")}, Expect: modeltest.Saying("You may run it once.")},
			modeltest.Turn{Tools: []modeltest.Tool{bash("cd . && touch made")}},
			modeltest.Turn{Text: "Done.", Expect: modeltest.Saying("Refused before it ran.")},
		)
		_, wait := b.start()
		b.server.Wait(t, agenttest.Has("agent.tool_refused", 2))
		require.NoFileExists(t, b.at("made"))
		refusal, _ := b.server.Of("agent.tool_refused")[0].Data["refusal"].(string)
		b.server.Say(agenttest.Message{ID: "m1", Content: "You may run it once.", Type: "user_message", Allows: refusal})
		b.server.Wait(t, agenttest.Has("agent.message_injected", 1))
		close(allowed)
		require.Equal(t, 0, wait().ExitCode())
		require.FileExists(t, b.at("made"))
		require.NoFileExists(t, b.at("go.mod"))
		require.FileExists(t, b.at("else"))
		require.Equal(t, refusal, b.one("agent.tool_allowed")["refusal"])
		require.Len(t, b.server.Of("agent.tool_refused"), 3)
		require.Empty(t, b.server.Of("agent.tool_unchecked"))
		t.Log(b.server.Of("agent.tool_result")[0].Data["result"])
	})
}

// BenchmarkHook compares a shell that starts the hook with one that starts nothing, in pairs, as a program does for each call.
func BenchmarkHook(b *testing.B) {
	path, err := binary()
	require.NoError(b, err)
	dir := b.TempDir()
	require.NoError(b, os.MkdirAll(filepath.Join(dir, "hook", "reports"), 0o700))
	require.NoError(b, os.WriteFile(filepath.Join(dir, "hook", "limits.json"), []byte(`{"contract": {"forbidden_commands": ["npm publish"]}, "workspace": "/workspace"}`), 0o600))
	took := func(line string) time.Duration {
		cmd := exec.CommandContext(b.Context(), "/bin/sh", "-c", line)
		cmd.Stdin = strings.NewReader(`{"tool_name": "Bash", "tool_use_id": "1", "cwd": "/workspace", "tool_input": {"command": "cd src && go test ./... 2>&1 | tail -5"}}`)
		begun := time.Now()
		require.NoError(b, cmd.Run())
		return time.Since(begun)
	}
	var added []time.Duration
	for b.Loop() {
		added = append(added, took("exec "+path+" hook --dir "+dir)-took("exec true"))
	}
	slices.Sort(added)
	b.ReportMetric(float64(added[len(added)/2].Microseconds())/1000, "ms/call")
}
