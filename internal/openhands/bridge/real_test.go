package bridge_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/statefile"
	"github.com/omoi-dev/omoi/internal/openhands"
	"github.com/omoi-dev/omoi/internal/openhands/bridge"
	"github.com/omoi-dev/omoi/internal/proctable"
	"github.com/omoi-dev/omoi/internal/task"
	modeltest "github.com/omoi-dev/omoi/internal/testkit/model"
	openhandstest "github.com/omoi-dev/omoi/internal/testkit/openhands"
)

func config(t *testing.T, program string, turns ...modeltest.Turn) bridge.Config {
	t.Helper()
	setup := openhandstest.Setup(t, program)
	vars := map[string]string{
		"LLM_MODEL": "openai/gpt-4o", "LLM_API_KEY": "planted-model-key", "LLM_BASE_URL": modeltest.New(t, turns...).URL + "/v1", "SANDBOX_ID": task.NewSandboxID(),
	}
	for _, entry := range setup.Environ {
		name, value, _ := strings.Cut(entry, "=")
		vars[name] = value
	}
	return bridge.Config{Program: program, Vars: vars, Dir: setup.Dir, Log: setup.Output}
}

func shell(command string) modeltest.Turn {
	return modeltest.Turn{Text: "I run it.", Tools: []modeltest.Tool{modeltest.Shell(command)}}
}

// A turn runs a command, hears a message meanwhile, and the session continues in another server.
func TestBridge(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	cfg := config(
		t, openhandstest.Real(t), shell("env > env; touch begun; until [ -e go ]; do sleep 0.1; done; python3 -c 'import math; print(math.comb(50, 25))'"),
		modeltest.Turn{Text: "The result is {{last_tool_result}}.", Expect: modeltest.Saying("Keep it short.")},
		modeltest.Turn{Tools: []modeltest.Tool{{Name: "finish", Input: map[string]any{"message": "Still."}}}, Expect: modeltest.Saying("I run it.", "Sure?")},
	)
	c := dial(t, cfg)
	c.open(work)
	require.Equal(t, openhands.ConversationID(cfg.Vars["SANDBOX_ID"]), c.session)
	done := c.call("session/prompt", c.says("Compute C(50,25)."))
	require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(work, "begun")); return err == nil }, patience, 20*time.Millisecond)
	told := c.call("_session/steering", c.says("Keep it short."))
	require.NoError(t, os.WriteFile(filepath.Join(work, "go"), nil, 0o600))
	require.JSONEq(t, `{"outcome":"injected"}`, string(told().Result))
	end := done()
	require.Nil(t, end.Error)
	require.JSONEq(t, `{"stopReason":"end_turn","usage":{"inputTokens":2000,"outputTokens":20,"cachedReadTokens":0,"cachedWriteTokens":0},
		"_meta":{"quota":{"model_usage":[{"model":"openai/gpt-4o"}]}}}`, string(end.Result))
	require.Equal(t, "I run it.", c.texts()[0])
	require.Contains(t, c.texts()[1], "126410606437752")
	require.Equal(t, "terminal", c.of("tool_call")[0]["name"])
	result := c.of("tool_call_update")[0]
	require.Equal(t, "completed", result["status"])
	require.InDelta(t, 0, result["rawOutput"].(map[string]any)["exitCode"], 0)
	environ, err := os.ReadFile(filepath.Join(work, "env"))
	require.NoError(t, err)
	require.NotContains(t, string(environ), "planted-model-key")
	require.JSONEq(t, `{"outcome":"promptRequired"}`, string(c.call("_session/steering", c.says("Late."))().Result))
	c.close()

	again := dial(t, cfg)
	again.session = c.session
	require.Nil(t, again.call("session/resume", map[string]any{"sessionId": c.session})().Error)
	end = again.call("session/prompt", again.says("Sure?"))()
	require.Nil(t, end.Error)
	require.Contains(t, string(end.Result), `"inputTokens":1000,`)
	require.Equal(t, []string{"Still."}, again.texts())
	missing := again.call("session/resume", map[string]any{"sessionId": task.NewID()})()
	require.Equal(t, -32002, missing.Error.Code)
}

// A cancelled turn ends its tool, and the end of the bridge ends the server with all processes.
func TestBridge_Cancel(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	c := dial(t, config(t, openhandstest.Real(t), shell("echo $$ > pid; python3 -c 'import time; time.sleep(1000)'; true")))
	c.open(work)
	done := c.call("session/prompt", c.says("Begin."))
	pid := waitFile(t, filepath.Join(work, "pid"))
	c.send(map[string]any{"jsonrpc": "2.0", "method": "session/cancel", "params": map[string]any{"sessionId": c.session}})
	require.JSONEq(t, `{"stopReason":"cancelled"}`, string(done().Result))
	c.close()
	require.Eventually(t, func() bool { _, err := os.Stat("/proc/" + pid); return err != nil }, patience, 10*time.Millisecond)
}

// A turn whose server is killed fails by the server, and so does one whose model fails.
func TestBridge_Faults(t *testing.T) {
	t.Parallel()
	program := openhandstest.Real(t)
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		work := t.TempDir()
		cfg := config(t, program, shell("echo $$ > pid; python3 -c 'import time; time.sleep(1000)'; true"), modeltest.Turn{Text: "It is still 42.", Expect: modeltest.Saying("I run it.", "Go on.")})
		c := dial(t, cfg)
		c.open(work)
		done := c.call("session/prompt", c.says("Begin."))
		waitFile(t, filepath.Join(work, "pid"))
		require.NoError(t, syscall.Kill(serverOf(t, cfg.Dir), syscall.SIGKILL))
		require.Contains(t, done().Error.Message, "signal: killed")
		require.Equal(t, "connection", c.failure()["category"])
		c.close()

		again := dial(t, cfg)
		again.session = c.session
		require.Nil(t, again.call("session/resume", map[string]any{"sessionId": c.session})().Error)
		end := again.call("session/prompt", again.says("Go on."))()
		require.Nil(t, end.Error)
		require.Contains(t, string(end.Result), `"end_turn"`)
		require.Equal(t, []string{"It is still 42."}, again.texts())
	})
	t.Run("frozen", func(t *testing.T) {
		t.Parallel()
		work := t.TempDir()
		cfg := config(t, program, shell("touch begun; until [ -e go ]; do sleep 0.1; done"), modeltest.Turn{Text: "Done."})
		c := dial(t, cfg)
		c.open(work)
		done := c.call("session/prompt", c.says("Begin."))
		require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(work, "begun")); return err == nil }, patience, 20*time.Millisecond)
		pid := serverOf(t, cfg.Dir)
		require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
		for range 6 { // each for 10 s
			require.Equal(t, task.CodeUnavailable, task.CodeOf(clientOf(t, cfg.Dir, pid).Alive(t.Context())))
		}
		require.NoError(t, os.WriteFile(filepath.Join(work, "go"), nil, 0o600))
		require.NoError(t, syscall.Kill(pid, syscall.SIGCONT))
		end := done()
		require.Nil(t, end.Error)
		require.Contains(t, string(end.Result), `"end_turn"`)
		require.Equal(t, []string{"I run it.", "Done."}, c.texts())
	})
	t.Run("model", func(t *testing.T) {
		t.Parallel()
		c := dial(t, config(t, program, modeltest.Turn{Status: 401, Error: "no such key"}))
		c.open(t.TempDir())
		end := c.call("session/prompt", c.says("Begin."))()
		require.Nil(t, end.Error)
		require.Equal(t, "auth", c.failure()["category"], fmt.Sprint(c.failure()))
	})
}

// clientOf returns a client of the server with a process, which works in a folder.
func clientOf(t *testing.T, dir string, pid int) *openhands.Client {
	t.Helper()
	var keys openhands.Keys
	require.True(t, statefile.Load(filepath.Join(dir, "keys.json"), &keys))
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	require.NoError(t, err)
	args := strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
	to, err := openhands.New("http://127.0.0.1:"+args[slices.Index(args, "--port")+1], keys.Session)
	require.NoError(t, err)
	return to
}

// serverOf returns the process of the server that works in a folder.
func serverOf(t *testing.T, dir string) int {
	t.Helper()
	for _, p := range proctable.All() {
		at, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", p.PID))
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID))
		if at == dir && strings.Contains(string(line), openhands.Program) {
			return p.PID
		}
	}
	require.Fail(t, "no server works in "+dir)
	return 0
}
