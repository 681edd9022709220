//nolint:paralleltest // a process has one runner of commands
package command_test

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/command"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	agenttest "github.com/omoi-dev/omoi/internal/testkit/agent"
)

const patience = 60 * time.Second // bounds a hang; no test depends on speed

func TestMain(m *testing.M) {
	if err := proc.Adopt(); err != nil {
		panic(err)
	}
	m.Run()
}

// start runs a shell script as the agent, in this process. The returned function waits for its exit code.
func start(t *testing.T, server *agenttest.Server, does string, edit func(*agentconfig.Config)) (wait func() int) {
	t.Helper()
	home := t.TempDir()
	cfg := agentconfig.Config{
		Protocol: agentconfig.Protocol, SandboxID: "sbx", TaskID: "task-1", Attempt: 1, APIURL: server.URL, Runtime: "command",
		Workspace: filepath.Join(home, "ws"), Dir: filepath.Join(home, "omoi"), Title: "Title", Description: "What to do",
		Grace: 2 * time.Second, Heartbeat: time.Hour, Idle: time.Hour, Command: []string{"sh", "-c", does}, ReadsMessages: true,
	}
	edit(&cfg)
	ctx, stop := context.WithTimeout(t.Context(), patience)
	code := make(chan int, 1)
	go func() {
		defer stop()
		got, err := agent.Run(ctx, cfg, agent.Deps{
			Runtimes: map[string]agent.Runtime{"command": command.Runtime{Output: io.Discard, LookEvery: 5 * time.Millisecond}},
			Procs:    &proc.Runner{}, Log: slog.New(slog.DiscardHandler),
		})
		if err != nil || ctx.Err() != nil {
			got = -1
		}
		code <- got
	}()
	return func() int { return <-code }
}

// TestRun_ConcurrentAccess runs a program that prints events, reads messages, changes files, iterates and is stopped,
// for the race detector.
func TestRun_ConcurrentAccess(t *testing.T) {
	server := agenttest.New(t)
	wait := start(t, server, `
event() { printf '{"omoi":"event","event_type":"%s","event_data":%s}\n' "$1" "$2"; }
for n in 1 2 3 4 5; do echo $n >> changed; event agent.assistant_message '{"usage":{"input_tokens":1}}'; event agent.tool_result '{"tool_use_id":"t"}'; done
[ -e begun ] || { touch begun; sleep 1000; }
read -r said; event agent.message '{"content":"heard"}'; [ -n "$OMOI_FEEDBACK" ] && touch passed; exit 0`, func(cfg *agentconfig.Config) {
		cfg.Continuous, cfg.TestCommand = true, "test -e passed"
	})
	server.Wait(t, agenttest.Has("agent.tool_result", 5))
	server.Say(agenttest.Message{ID: "m1", Type: "interrupt", Content: "enough"})
	server.Wait(t, agenttest.Has("agent.waiting", 1))
	server.Say(agenttest.Message{ID: "m2", Type: "user_message", Content: "go on"})
	server.Wait(t, agenttest.Has("agent.tool_result", 15))
	server.Say(agenttest.Message{ID: "m3", Type: "user_message", Content: "more"})
	require.Equal(t, 0, wait())
	require.Len(t, server.Of("agent.interrupted"), 1)
	require.Len(t, server.Of("iteration.validation"), 2)
	done := server.Of("continuous.completed")[0].Data
	require.Equal(t, []any{true, 15.0, 15.0}, []any{done["validation_passed"], done["turns"], done["input_tokens"]})
	require.NotEmpty(t, server.Of("agent.file_edited"))
}

// TestInterrupt_LaterMessages checks that messages after an interrupt go to the next run.
func TestInterrupt_LaterMessages(t *testing.T) {
	server := agenttest.New(t)
	wait := start(t, server, `
if [ ! -e begun ]; then touch begun; trap '' INT; echo '{"omoi":"event","event_type":"agent.message","event_data":{}}'; cat; sleep 1000; fi
read -r said; exit 0`, func(*agentconfig.Config) {})
	server.Wait(t, agenttest.Has("agent.message", 1))
	server.Say(agenttest.Message{ID: "m1", Type: "interrupt", Content: "enough"})
	server.Say(agenttest.Message{ID: "m2", Type: "guardian_nudge", Content: "go on otherwise"})
	require.Equal(t, 0, wait())
	require.Len(t, server.Of("agent.interrupted"), 1)
	require.Empty(t, server.Of("agent.error"))
}

// TestLookAround checks that changes of a program without event lines are reported before its end.
func TestLookAround(t *testing.T) {
	server, dir := agenttest.New(t), t.TempDir()
	wait := start(t, server, `echo x > changed; while [ ! -e "`+dir+`/go" ]; do sleep 0.02; done`, func(*agentconfig.Config) {})
	server.Wait(t, agenttest.Has("agent.file_edited", 1))
	require.Empty(t, server.Of("agent.completed"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	require.Equal(t, 0, wait())
	require.Len(t, server.Of("agent.file_edited"), 1)
}

// TestContinuous_SilentIteration checks that an iteration without event lines counts if an earlier one had some.
func TestContinuous_SilentIteration(t *testing.T) {
	server := agenttest.New(t)
	wait := start(t, server, `
[ -e begun ] || { touch begun; echo '{"omoi":"event","event_type":"agent.message","event_data":{}}'; }
exit 0`, func(cfg *agentconfig.Config) {
		cfg.Continuous, cfg.TestCommand, cfg.ReadsMessages = true, "false", false
		cfg.Env = map[string]string{"MAX_ITERATIONS": "2", "MAX_DURATION_SECONDS": "20"}
	})
	require.Equal(t, 1, wait())
	require.Equal(t, "max_iterations_reached", server.Of("continuous.completed")[0].Data["stop_reason"])
	require.Len(t, server.Of("iteration.started"), 2)
}

// TestInterrupt_DuringValidation checks that an interrupt ends a test command.
func TestInterrupt_DuringValidation(t *testing.T) {
	server, dir := agenttest.New(t), t.TempDir()
	wait := start(t, server, `[ -e "`+dir+`/again" ] && read -r said; touch "`+dir+`/again"; exit 0`, func(cfg *agentconfig.Config) {
		cfg.Continuous, cfg.TestCommand = true, `[ -e "`+dir+`/tested" ] || { touch "`+dir+`/tested"; sleep 1000; }`
	})
	require.Eventually(t, func() bool { _, err := os.Stat(dir + "/tested"); return err == nil }, patience, 10*time.Millisecond)
	server.Say(agenttest.Message{ID: "m1", Type: "interrupt", Content: "enough"})
	server.Wait(t, agenttest.Has("agent.interrupted", 1))
	server.Say(agenttest.Message{ID: "m2", Type: "user_message", Content: "go on"})
	require.Equal(t, 0, wait())
}
