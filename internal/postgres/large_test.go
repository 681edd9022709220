package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestResult_LargeOutput(t *testing.T) {
	t.Parallel()
	const output = 1 << 20
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(1), "")
	live := w.running(a)
	w.event(live.SandboxID, event.AgentCompleted, `{"success": true, "turns": 3}`)
	w.exec(`UPDATE sandbox_events SET cut = true`)
	w.exec(`INSERT INTO event_fields (sandbox_id, sequence, partition_month, names, fields)
		SELECT sandbox_id, sequence, partition_month, '{final_output}', jsonb_build_object('final_output', repeat('o', $1)) FROM sandbox_events`, output)
	w.finish(a, live, 99, task.StatusCompleted)
	require.Equal(t, output, one[int](t, w.pool, `SELECT length(result ->> 'output') FROM tasks WHERE id = $1`, a.id))
	require.Equal(t, "3", one[string](t, w.pool, `SELECT result ->> 'turns' FROM tasks WHERE id = $1`, a.id))
}
