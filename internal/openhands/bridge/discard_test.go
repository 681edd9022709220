package bridge_test

import (
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/openhands"
	"github.com/omoi-dev/omoi/internal/openhands/bridge"
	"github.com/omoi-dev/omoi/internal/task"
	openhandstest "github.com/omoi-dev/omoi/internal/testkit/openhands"
)

// A server that exists keeps nothing of a sandbox that has ended, also if a tool runs, and if the server gives no answer for a moment.
func TestDiscard(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]openhandstest.Fault{"at once": {}, "down for a moment": {Status: http.StatusBadGateway}, "lost answer": {Drop: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := openhandstest.NewFake(t, func(t *openhandstest.Turn) { t.Shell("echo $$ > pid; sleep 1000") })
			vars, work := f.Vars(), t.TempDir()
			vars["SANDBOX_ID"] = task.NewSandboxID()
			c := dial(t, bridge.Config{Vars: vars})
			c.open(work)
			c.call("session/prompt", c.says("Begin."))
			pid := waitFile(t, filepath.Join(work, "pid"))
			var left atomic.Int32
			left.Store(3)
			f.Fault = func(*http.Request) openhandstest.Fault {
				if left.Add(-1) >= 0 {
					return fault
				}
				return openhandstest.Fault{}
			}
			require.True(t, f.Has(openhands.ConversationID(vars["SANDBOX_ID"])))
			require.NoError(t, bridge.Discard(t.Context(), vars, vars["SANDBOX_ID"]))
			require.False(t, f.Has(openhands.ConversationID(vars["SANDBOX_ID"])))
			require.Eventually(t, func() bool { _, err := os.Stat("/proc/" + pid); return err != nil }, patience, time.Millisecond)
			require.NoError(t, bridge.Discard(t.Context(), vars, vars["SANDBOX_ID"]), "a second time")
		})
	}
	require.NoError(t, bridge.Discard(t.Context(), nil, "x"), "an own server ends with its sandbox")
}

// What a server does not delete is named.
func TestDiscard_SaysWhatRemains(t *testing.T) {
	t.Parallel()
	f := openhandstest.NewFake(t, func(*openhandstest.Turn) {})
	f.Fault = func(*http.Request) openhandstest.Fault { return openhandstest.Fault{Status: http.StatusForbidden} }
	err := bridge.Discard(t.Context(), f.Vars(), "x")
	require.ErrorContains(t, err, openhands.ConversationID("x"))
	require.ErrorContains(t, err, f.URL)
	require.NotContains(t, err.Error(), f.Key)
}
