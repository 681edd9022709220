package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestLoadEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	live := w.running(a)
	for _, e := range [][2]string{
		{"agent.started", `{}`}, {"agent.tool_use", `{"big": "text"}`}, {"agent.heartbeat", `{}`}, {"agent.error", `{"error": "story"}`},
	} {
		w.event(live.SandboxID, e[0], e[1])
	}
	read := func(after int64) contract.Digest {
		d, err := w.store.LoadEvents(t.Context(), contract.LoadEventsInput{SandboxID: live.SandboxID, After: after})
		require.NoError(t, err)
		return d
	}
	all := read(0)
	require.Equal(t, int64(1), all.From)
	require.Equal(t, int64(4), all.To)
	require.Len(t, all.Milestones, 2)
	story, err := w.store.Text(t.Context(), all.Milestones[1].ErrorID)
	require.NoError(t, err)
	require.Equal(t, "story", story)
	rest := read(2)
	require.Equal(t, int64(3), rest.From)
	require.Equal(t, all.Counters, rest.Counters, "counters are cumulative, wherever it begins")
	w.exec(`UPDATE sandboxes SET relayed = 2, counters = '{"agent.started": 1, "agent.tool_use": 1}'`)
	require.Equal(t, rest, read(2), "as the relay left them")
	require.Equal(t, int64(4), read(4).To)
	require.Empty(t, read(4).Milestones)
	_, err = w.store.LoadEvents(t.Context(), contract.LoadEventsInput{SandboxID: "nobody"})
	require.Equal(t, task.CodeNotFound, task.CodeOf(err))
}
