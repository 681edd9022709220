package bridge_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/jsonrpc"
	"github.com/omoi-dev/omoi/internal/openhands/bridge"
	openhandstest "github.com/omoi-dev/omoi/internal/testkit/openhands"
)

// A message whose request is lost while a tool runs reaches the same turn after that tool.
func TestFake_MessageLostDuringATool(t *testing.T) {
	t.Parallel()
	f := openhandstest.NewFake(t, func(t *openhandstest.Turn) {
		t.Shell("touch begun; until [ -e go ]; do sleep 0.02; done")
		t.Text("I heard: " + t.Hear())
	})
	var lost atomic.Bool
	f.Fault = func(r *http.Request) openhandstest.Fault {
		if isMessage(r) && len(f.Said()) == 1 && !lost.Swap(true) {
			return openhandstest.Fault{Status: http.StatusBadGateway}
		}
		return openhandstest.Fault{}
	}
	work := t.TempDir()
	c := dial(t, bridge.Config{Vars: f.Vars()})
	c.open(work)
	done := c.call("session/prompt", c.says("Begin."))
	require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(work, "begun")); return err == nil }, patience, 10*time.Millisecond)
	told := c.call("_session/steering", c.says("Use tabs."))
	require.Eventually(t, lost.Load, patience, 10*time.Millisecond)
	require.NoError(t, os.WriteFile(filepath.Join(work, "go"), nil, 0o600))
	require.JSONEq(t, `{"outcome":"injected"}`, string(told().Result))
	require.Nil(t, done().Error)
	require.Contains(t, strings.Join(c.texts(), ""), "I heard: Use tabs.")
	require.Len(t, f.Said(), 2)
}

// A message that the server does not take keeps no turn open, and its sender gets to know that.
func TestFake_MessageRefused(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]int{"for ever": http.StatusInternalServerError, "as invalid": http.StatusUnprocessableEntity} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tried := make(chan struct{})
			once := sync.OnceFunc(func() { close(tried) })
			f := openhandstest.NewFake(t, func(turn *openhandstest.Turn) {
				select {
				case <-tried:
				case <-t.Context().Done():
				}
				turn.Finish("done")
			})
			f.Fault = func(r *http.Request) openhandstest.Fault {
				if isMessage(r) && len(f.Said()) == 1 {
					once()
					return openhandstest.Fault{Status: status}
				}
				return openhandstest.Fault{}
			}
			c := dial(t, bridge.Config{Vars: f.Vars()})
			c.open(t.TempDir())
			done := c.call("session/prompt", c.says("Begin."))
			require.Eventually(t, func() bool { return len(f.Said()) == 1 }, patience, time.Millisecond)
			told := jsonrpc.Into[map[string]string](c.call("_session/steering", c.says("Use tabs."))().Result)
			require.Equal(t, bridge.Refused, told["outcome"])
			require.Contains(t, told["reason"], "does not take the message")
			end := done()
			require.Nil(t, end.Error)
			require.Contains(t, string(end.Result), `"end_turn"`)
		})
	}
}

// A turn that breaks, or is cancelled, reports the tokens that it has used.
func TestFake_TokensOfABrokenTurn(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"broken", "cancelled"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			var broken atomic.Bool
			f := openhandstest.NewFake(t, func(t *openhandstest.Turn) { t.Text("I begin."); t.Text("And."); t.Wait() })
			f.Fault = func(*http.Request) openhandstest.Fault {
				if broken.Load() {
					return openhandstest.Fault{Status: http.StatusUnauthorized}
				}
				return openhandstest.Fault{}
			}
			c := dial(t, bridge.Config{Vars: f.Vars()})
			c.open(t.TempDir())
			done := c.call("session/prompt", c.says("Begin."))
			require.Eventually(t, func() bool { return len(c.texts()) == 2 }, patience, time.Millisecond)
			if how == "cancelled" {
				c.send(map[string]any{"jsonrpc": "2.0", "method": "session/cancel", "params": map[string]any{"sessionId": c.session}})
			} else {
				require.Eventually(t, func() bool { input, _ := c.spent(); return input == 2000 }, patience, time.Millisecond)
				broken.Store(true)
			}
			require.Equal(t, how == "broken", done().Error != nil)
			input, output := c.spent()
			require.InDelta(t, 2000, input, 0)
			require.InDelta(t, 20, output, 0)
		})
	}
}

// A server without room for a further conversation, or a further run, says so.
func TestFake_ServerFull(t *testing.T) {
	t.Parallel()
	full := openhandstest.Fault{Status: http.StatusTooManyRequests}
	t.Run("create", func(t *testing.T) {
		t.Parallel()
		f := openhandstest.NewFake(t, func(*openhandstest.Turn) {})
		f.Fault = func(r *http.Request) openhandstest.Fault {
			if sites["create"](r) {
				return full
			}
			return openhandstest.Fault{}
		}
		made := dial(t, bridge.Config{Vars: f.Vars(), Room: time.Second}).call("session/new", map[string]any{"cwd": t.TempDir()})()
		require.JSONEq(t, `{"errorKind":"server_full"}`, string(made.Error.Data))
	})
	t.Run("run", func(t *testing.T) {
		t.Parallel()
		f := openhandstest.NewFake(t, func(*openhandstest.Turn) {})
		f.Fault = func(r *http.Request) openhandstest.Fault {
			switch {
			case isMessage(r):
				return openhandstest.Fault{Save: true}
			case strings.HasSuffix(r.URL.Path, "/run"):
				return full
			}
			return openhandstest.Fault{}
		}
		c := dial(t, bridge.Config{Vars: f.Vars(), Room: time.Second})
		c.open(t.TempDir())
		require.NotNil(t, c.call("session/prompt", c.says("Begin."))().Error)
		require.Equal(t, bridge.Full, c.failure()["category"])
	})
}
