package postgres_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

// TestRetry_GivesItsFeedbackToTheNextAttempt retries a failed task with comments of a review.
func TestRetry_GivesItsFeedbackToTheNextAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	w.load(a)
	w.begin(a, 1)
	w.exec(`UPDATE attempts SET ended_at = now(), outcome = 'failed' WHERE task_id = $1`, a.id)
	w.exec(`UPDATE tasks SET status = 'failed', sandbox_id = NULL, completed_at = now() WHERE id = $1`, a.id)
	asked, err := w.store.AskTask(t.Context(), task.CommandRequest{
		OrganizationID: w.org, TaskID: a.id, Kind: task.CommandRetry, Args: json.RawMessage(`{"reason":"Review comments","feedback":"a.go, line 7: Return the error."}`),
	})
	require.NoError(t, err)
	loaded, err := w.store.LoadTask(t.Context(), contract.TaskRef{TaskID: a.id, CommandID: asked.Command.ID, FirstRunID: "run-2"}, "run-2")
	require.NoError(t, err)
	require.Empty(t, loaded.Settled)
	begin := func(ordinal int64) string {
		in := contract.BeginAttemptInput{TaskID: a.id, FirstRunID: "run-2", Ordinal: ordinal, Kind: "retry"}
		begun, err := w.store.BeginAttempt(t.Context(), in, "run-2")
		require.NoError(t, err)
		require.NotEmpty(t, begun.SandboxID, "%+v", begun)
		again, err := w.store.BeginAttempt(t.Context(), in, "run-2")
		require.NoError(t, err)
		require.Equal(t, begun, again)
		work, err := w.store.Work(t.Context(), a.id)
		require.NoError(t, err)
		return work.Feedback
	}
	require.Equal(t, "a.go, line 7: Return the error.", begin(2))
	require.Empty(t, begin(9), "a later attempt has its own reasons")
}
