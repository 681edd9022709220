package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

// The test has an older diagnosis whose task has no running agent.
func TestTellNotices_GoToRunningAgentsOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	project := w.project(2)
	ended, runs := w.task(project, ""), w.task(project, "")
	endedBox, box := w.running(ended).SandboxID, w.running(runs).SandboxID
	for hours, id := range map[int]string{2: ended.id, 1: runs.id} {
		w.exec(`INSERT INTO diagnoses (id, organization_id, project_id, ticket_id, task_id, attempt, kind, said, notice, created_at)
			SELECT $2, organization_id, project_id, ticket_id, id, 0, 'ended', '{}', 'held', now() - make_interval(hours => $3)
			FROM tasks WHERE id = $1`, id, task.NewID(), hours)
	}
	w.exec(`UPDATE sandboxes SET ended_at = now() WHERE id = $1`, endedBox)
	told, err := w.store.TellNotices(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, []string{box}, told)
	told, err = w.store.TellNotices(t.Context(), 1)
	require.NoError(t, err)
	require.Empty(t, told, "each is told once")
}
