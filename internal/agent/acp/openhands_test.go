//nolint:paralleltest // a process has one runner of commands
package acp_test

import (
	"maps"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	openhandstest "github.com/omoi-dev/omoi/internal/testkit/openhands"
)

// fakeBridge makes the test binary the bridge to an OpenHands server.
const fakeBridge = "OMOI_FAKE_BRIDGE"

// onOpenHands returns a bench with an agent of a server that exists.
func onOpenHands(t *testing.T, f *openhandstest.Fake) *bench {
	t.Helper()
	b := newBench(t, "openhands", "", "")
	delete(b.cfg.Env, fakeDir)
	maps.Copy(b.cfg.Env, f.Vars())
	delete(b.cfg.Env, "MODEL")
	b.cfg.Env[fakeBridge] = "1"
	b.runtime.Dialect.Command = func(string) ([]string, error) { return []string{"/proc/self/exe"}, nil }
	return b
}

// A server without room is no fault of the attempt: the task waits and tries again.
func TestOpenHands_Full(t *testing.T) {
	f := openhandstest.NewFake(t, func(*openhandstest.Turn) {})
	f.Fault = func(r *http.Request) openhandstest.Fault {
		if r.Method == http.MethodPost && r.URL.Path == "/api/conversations" {
			return openhandstest.Fault{Status: http.StatusTooManyRequests}
		}
		return openhandstest.Fault{}
	}
	b := onOpenHands(t, f)
	require.Equal(t, 1, b.run(), b)
	failed := b.one("agent.error")
	require.Equal(t, []any{"provider_limit", "server_full"}, []any{failed["failure_class"], failed["reason_code"]}, failed)
}

// A message that the server does not take is dropped, and the turn succeeds without it.
func TestOpenHands_MessageRefused(t *testing.T) {
	var tried atomic.Bool
	f := openhandstest.NewFake(t, func(turn *openhandstest.Turn) {
		turn.Shell("until [ -e go ]; do sleep 0.02; done")
		turn.Finish("done")
	})
	b := onOpenHands(t, f)
	f.Fault = func(r *http.Request) openhandstest.Fault {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/events") && len(f.Said()) == 1 {
			if !tried.Swap(true) {
				_ = os.WriteFile(b.cfg.Workspace+"/go", nil, 0o600)
			}
			return openhandstest.Fault{Status: http.StatusUnprocessableEntity}
		}
		return openhandstest.Fault{}
	}
	wait := b.start()
	b.has("agent.tool_use", 1)
	b.tell("a", "user_message", "use tabs")
	require.Zero(t, wait(), b)
	require.Equal(t, "a", b.one("agent.message_dropped")["message_id"])
	require.Len(t, f.Said(), 1)
}
