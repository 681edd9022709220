package ingest_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

// left gives a task a sandbox whose attempt was ended so long ago; empty: not yet.
func (b *bench) left(taskID string, number int, ago string) string {
	b.t.Helper()
	id := b.attempt(taskID, number)
	b.exec(`INSERT INTO attempts (task_id, number, sandbox_id, run_id, ordinal, ended_at)
		VALUES ($1, $2::integer, $3, 'run', $2::integer, now() - nullif($4, '')::interval)`, taskID, number, id, ago)
	return id
}

// The run was terminated: its sandbox does not wait for the reaper, and the retry waits for it.
func TestARetryWaitsForTheSandboxOfATerminatedRun(t *testing.T) {
	t.Parallel()
	b, runs := setup(t), newFakeRuns()
	taskID := b.task()
	box := b.left(taskID, 1, "")
	runs.before = func(call string) error {
		if strings.HasPrefix(call, "cancel") {
			return task.Errorf(task.CodeGone, "ended")
		}
		return nil
	}
	runs.calls = make(chan string, 10_000)
	cancel := b.ask(taskID, "cancel")
	b.relay(quick(), runs)
	require.Equal(t, box, <-runs.calls, "it is handed over as the task is written off")
	b.settled(taskID)
	state, _ := b.command(cancel)
	require.Equal(t, "too_late", state)

	retry := b.ask(taskID, "retry")
	require.Equal(t, box, <-runs.calls, "also where the one who wrote it off died before")
	require.Empty(t, runs.of(taskID))
	_, sent := b.command(retry)
	require.False(t, sent)
	b.exec(`UPDATE sandboxes SET state = 'gone', gone_at = now() WHERE id = $1`, box)
	b.settled(taskID)
	require.Equal(t, []string{"start " + retry}, runs.of(taskID))
}

func TestARetryDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	b, runs := setup(t), newFakeRuns()
	runs.before = func(call string) error {
		if !strings.HasPrefix(call, "start") {
			return errors.New("away")
		}
		return nil
	}
	taskID := b.task()
	b.exec(`UPDATE tasks SET status = 'failed' WHERE id = $1`, taskID)
	b.left(taskID, 1, "3 minutes")
	b.exec(`UPDATE sandboxes SET state = 'lost' WHERE id = $1`, b.left(taskID, 2, "1 second"))
	retry := b.ask(taskID, "retry")
	b.relay(quick(), runs)
	b.settled(taskID)
	require.Equal(t, []string{"start " + retry}, runs.of(taskID))
}
