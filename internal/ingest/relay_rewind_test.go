package ingest_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRelay_RewindOfACompletedTaskIsAStartWithItsCheckpoint(t *testing.T) {
	t.Parallel()
	b, runs := setup(t), newFakeRuns()
	taskID := b.task()
	b.exec(`UPDATE tasks SET status = 'completed' WHERE id = $1`, taskID)
	rewind := b.ask(taskID, "retry")
	b.exec(`UPDATE commands SET args = '{"checkpoint":"1.2"}' WHERE id = $1`, rewind)
	b.relay(quick(), runs)
	b.settled(taskID)
	require.Equal(t, []string{"start " + rewind}, runs.of(taskID))
	require.Equal(t, "1.2", runs.input[taskID].Checkpoint)
}
