package bridge_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/jsonrpc"
	"github.com/omoi-dev/omoi/internal/openhands"
	"github.com/omoi-dev/omoi/internal/openhands/bridge"
	openhandstest "github.com/omoi-dev/omoi/internal/testkit/openhands"
)

// isMessage reports whether a request adds a message.
func isMessage(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/events")
}

// stopOf returns the stop reason of a turn on a server.
func stopOf(t *testing.T, f *openhandstest.Fake) (c *client, stop string) {
	t.Helper()
	c = dial(t, bridge.Config{Vars: f.Vars()})
	c.open(t.TempDir())
	end := c.call("session/prompt", c.says("Begin."))()
	require.Nil(t, end.Error)
	return c, jsonrpc.Into[map[string]any](end.Result)["stopReason"].(string)
}

// A turn reports what the agent said and did, and its tokens.
func TestFake_Turn(t *testing.T) {
	t.Parallel()
	f := openhandstest.NewFake(t, func(t *openhandstest.Turn) {
		t.Shell("echo one; exit 3")
		t.Finish("done")
	})
	c := dial(t, bridge.Config{Vars: f.Vars()})
	c.open(t.TempDir())
	end := c.call("session/prompt", c.says("Begin."))()
	require.JSONEq(t, `{"stopReason":"end_turn","usage":{"inputTokens":2000,"outputTokens":20,"cachedReadTokens":0,"cachedWriteTokens":0},
		"_meta":{"quota":{"model_usage":[{"model":"openai/gpt-4o"}]}}}`, string(end.Result))
	require.Equal(t, []string{"done"}, c.texts())
	require.Equal(t, map[string]any{"command": "echo one; exit 3"}, c.of("tool_call")[0]["rawInput"])
	require.InDelta(t, 3, c.of("tool_call_update")[0]["rawOutput"].(map[string]any)["exitCode"], 0)
	require.Contains(t, f.Said()[0], "Begin.\n\n[omoi message ")
}

// A message is in the conversation once, and runs, also if its request fails.
func TestFake_Message(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]openhandstest.Fault{
		"lost answer": {Drop: true}, "no slot": {Save: true}, "not delivered": {Status: http.StatusBadGateway},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := openhandstest.NewFake(t, func(t *openhandstest.Turn) { t.Finish("done") })
			var played atomic.Bool
			f.Fault = func(r *http.Request) openhandstest.Fault {
				if isMessage(r) && !played.Swap(true) {
					return fault
				}
				return openhandstest.Fault{}
			}
			c, stop := stopOf(t, f)
			require.Equal(t, "end_turn", stop)
			require.Equal(t, []string{"done"}, c.texts())
			require.Len(t, f.Said(), 1)
		})
	}
}

// A turn that stops otherwise than by its own end has another stop reason.
func TestFake_Stops(t *testing.T) {
	t.Parallel()
	_, stop := stopOf(t, openhandstest.NewFake(t, func(t *openhandstest.Turn) { t.End(openhands.StatusStuck) }))
	require.Equal(t, "stuck", stop)
}

// A failure has the category by which the runtime knows its class.
func TestFake_Failures(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{"auth": "auth", "rate_limit": "limit", "quota": "limit", "transient": "service", "agent_action": "agent", "config": "agent"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c, _ := stopOf(t, openhandstest.NewFake(t, func(t *openhandstest.Turn) { t.Fail("Code", kind, "no") }))
			require.Equal(t, want, c.failure()["category"])
			require.Equal(t, "Code: no", c.failure()["title"])
		})
	}
	for _, status := range []openhands.Status{openhands.StatusError, openhands.StatusPaused} { // of a server that was restarted
		t.Run(string(status), func(t *testing.T) {
			t.Parallel()
			c, stop := stopOf(t, openhandstest.NewFake(t, func(t *openhandstest.Turn) { t.End(status) }))
			require.Equal(t, []any{"end_turn", "service"}, []any{stop, c.failure()["category"]})
		})
	}
}

// A turn fails by its server if that refuses the key, or has lost the conversation, and not if it gives no answer for a moment.
func TestFake_Server(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]int{"key rotated": http.StatusUnauthorized, "data gone": http.StatusNotFound} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var begun, broken atomic.Bool
			f := openhandstest.NewFake(t, func(t *openhandstest.Turn) { begun.Store(true); t.Wait() })
			f.Fault = func(r *http.Request) openhandstest.Fault {
				if broken.Load() {
					return openhandstest.Fault{Status: fault}
				}
				return openhandstest.Fault{}
			}
			c := dial(t, bridge.Config{Vars: f.Vars()})
			c.open(t.TempDir())
			done := c.call("session/prompt", c.says("Begin."))
			require.Eventually(t, begun.Load, patience, time.Millisecond)
			broken.Store(true)
			require.NotNil(t, done().Error)
			require.Equal(t, "connection", c.failure()["category"])
		})
	}
	t.Run("no answer for a moment", func(t *testing.T) {
		t.Parallel()
		f := openhandstest.NewFake(t, func(t *openhandstest.Turn) { t.Finish("done") })
		var reads atomic.Int32
		f.Fault = func(r *http.Request) openhandstest.Fault {
			if strings.HasSuffix(r.URL.Path, "/search") && reads.Add(1) < 3 {
				return openhandstest.Fault{Status: http.StatusBadGateway}
			}
			return openhandstest.Fault{}
		}
		_, stop := stopOf(t, f)
		require.Equal(t, "end_turn", stop)
	})
}

// A message reaches the turn that runs. The end of the bridge ends that turn.
func TestFake_SteerAndLeave(t *testing.T) {
	t.Parallel()
	f := openhandstest.NewFake(t, func(t *openhandstest.Turn) {
		t.Text("I heard: " + t.Hear())
		t.Shell("echo $$ > pid; sleep 1000")
	})
	work := t.TempDir()
	c := dial(t, bridge.Config{Vars: f.Vars()})
	c.open(work)
	c.call("session/prompt", c.says("Begin."))
	require.Eventually(t, func() bool { return len(f.Said()) == 1 }, patience, time.Millisecond)
	require.JSONEq(t, `{"outcome":"injected"}`, string(c.call("_session/steering", c.says("Use tabs."))().Result))
	pid := waitFile(t, filepath.Join(work, "pid"))
	require.Eventually(t, func() bool { return strings.Contains(strings.Join(c.texts(), ""), "I heard: Use tabs.") }, patience, time.Millisecond)
	c.close()
	require.Eventually(t, func() bool { _, err := os.Stat("/proc/" + pid); return err != nil }, patience, time.Millisecond)
}

// A server without a key off this machine is refused, and so is one that answers without a key.
func TestFake_Keys(t *testing.T) {
	t.Parallel()
	f := openhandstest.NewFake(t, func(*openhandstest.Turn) {})
	for name, vars := range map[string]map[string]string{
		"needs a key":             {"WORKSPACE_REMOTE_HOST": "http://192.0.2.1:8000"},
		"does not accept the key": {"WORKSPACE_REMOTE_HOST": f.URL, "WORKSPACE_REMOTE_API_KEY": "x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hello := dial(t, bridge.Config{Vars: vars}).call("initialize", nil)()
			require.Contains(t, hello.Error.Message, name)
		})
	}
}
