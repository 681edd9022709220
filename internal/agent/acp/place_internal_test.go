package acp

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/reporter"
)

// TestMoved checks that a session names the folder of the next attempt.
func TestMoved(t *testing.T) {
	t.Parallel()
	move := moved("/b/ws")
	require.Equal(t, "{\"cwd\":\"/b/ws\"}\n", string(move([]byte("{\"cwd\":\"/a/ws\"}\n"))))
	require.Equal(t, `{"path":"/b/ws/x"}`, string(move([]byte(`{"path":"/a/ws/x"}`))))
	require.Equal(t, `{"path":"/a/ws/x"}`, string(moved("/b/ws")([]byte(`{"path":"/a/ws/x"}`))))
}

// TestSettle_CountsTokensOnce checks an agent whose turns report sums, and whose second process begins at zero.
func TestSettle_CountsTokensOnce(t *testing.T) {
	t.Parallel()
	env := agent.Env{Report: &events{}, Doing: &reporter.Activity{}, Log: slog.New(slog.DiscardHandler)}
	env.Config.Dir = t.TempDir()
	for name, want := range map[string]float64{"copilot": 5500, "codex": 9500} {
		d, ok := Of(name)
		require.True(t, ok)
		r := newRecorder(t.Context(), env, d, &place{}, continuous.Limits{})
		r.settle(&answer{Usage: &usage{Input: 4000}}, false)
		r.settle(&answer{}, false)
		require.InDelta(t, 4000, r.place.Spent.Input, 0, "a turn without usage")
		r.settle(&answer{Usage: &usage{Input: 5000}}, false)
		r.begin()
		r.settle(&answer{Usage: &usage{Input: 500}}, false)
		require.InDelta(t, want, r.place.Spent.Input, 0)
		r.log.Close()
	}
}
