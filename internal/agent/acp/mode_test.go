//nolint:paralleltest // a process has one runner of commands
package acp_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMode_IsReadBack checks that an agent that stays in a mode in which another model judges each command, or does not
// tell its mode, gets no prompt.
func TestMode_IsReadBack(t *testing.T) {
	for _, name := range names() {
		t.Run(name, func(t *testing.T) { refusesMode(t, name, "auto", `its mode is "auto"`) })
		t.Run(name+" tells none", func(t *testing.T) { refusesMode(t, name, "none", "its mode is") })
	}
}

func refusesMode(t *testing.T, name, mode, says string) {
	t.Helper()
	b := newBench(t, name, "basic", "")
	b.cfg.Env[fakeMode] = mode
	want := b.runtime.Dialect.Mode
	if want == "" { // the configuration decides
		require.Zero(t, b.run(), b)
		return
	}
	require.Equal(t, 1, b.run(), b)
	require.Equal(t, "infrastructure", b.one("agent.error")["failure_class"])
	require.Contains(t, b.one("agent.error")["error"], says)
	require.Contains(t, b.one("agent.error")["error"], "instead of "+want)
	require.NotContains(t, b.heard("1"), "session/prompt")
}
