package main_test

import (
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	agenttest "github.com/omoi-dev/omoi/internal/testkit/agent"
)

// TestCollect_Unsent checks the number of unsent events.
func TestCollect_Unsent(t *testing.T) {
	t.Parallel()
	b := newBox(t, `{"steps": [{"bash": "echo begun > begun"}, {"hang": true}]}`)
	var away atomic.Bool
	away.Store(true)
	b.server.FaultOf = func(int) agenttest.Fault {
		if away.Load() {
			return agenttest.Fault{Status: 503}
		}
		return agenttest.Fault{}
	}
	b.cfg.Grace = time.Second
	cmd, wait := b.start()
	waitFile(t, filepath.Join(b.cfg.Workspace, "begun"))
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 0, wait().ExitCode())
	require.Positive(t, b.collect().Unsent)
	away.Store(false)
	require.NoError(t, b.command("flush", "--config", filepath.Join(b.cfg.Dir, "agent.json")).Run())
	require.Zero(t, b.collect().Unsent)
	require.Len(t, b.server.Of("agent.shutdown"), 1)
}
