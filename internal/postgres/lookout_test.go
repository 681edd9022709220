package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/postgres"
)

// The list contains only sandboxes with a running attempt on reachable hosts and providers.
func TestSandboxesAtWork_OfHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	made, id := w.box("local")
	atWork := func(host, provider string) (ids []string) {
		boxes, err := w.store.SandboxesAtWork(t.Context(), host, provider)
		require.NoError(t, err)
		for _, box := range boxes {
			require.Equal(t, made.id, box.TaskID)
			ids = append(ids, box.Labels.SandboxID)
		}
		return ids
	}
	require.Empty(t, atWork("host", "local"), "its agent was not started")
	w.exec(`UPDATE sandboxes SET state = 'running', started_at = now()`)
	w.exec(`UPDATE attempts SET assigned_at = now()`)
	w.exec(`UPDATE tasks SET status = 'running'`)
	require.Equal(t, []string{id}, atWork("host", "local"))
	require.Empty(t, atWork("elsewhere", "local"))
	require.Empty(t, atWork("host", "docker"))
	silence := func() time.Duration {
		boxes, err := w.store.SandboxesAtWork(t.Context(), "host", "local")
		require.NoError(t, err)
		require.Len(t, boxes, 1)
		return boxes[0].Silent
	}
	for column, silent := range map[string]time.Duration{"started_at": 30 * time.Hour, "last_event_at": 20 * time.Hour} {
		w.exec(`UPDATE sandboxes SET started_at = now() - interval '30 hours', last_event_at = NULL`)
		w.exec(fmt.Sprintf(`UPDATE sandboxes SET %s = now() - interval '%d hours'`, column, silent/time.Hour))
		require.InDelta(t, silent.Hours(), silence().Hours(), 1, column)
	}
	w.exec(`UPDATE sandboxes SET transport = 'pull'`)
	require.Empty(t, atWork("host", "local"), "its tail tells")
	w.exec(`UPDATE sandboxes SET transport = 'push', host_id = NULL`)
	require.Equal(t, []string{id}, atWork("elsewhere", "local"), "it is bound to no host")
	w.exec(`UPDATE attempts SET ended_at = now()`)
	require.Empty(t, atWork("host", "local"))
}
