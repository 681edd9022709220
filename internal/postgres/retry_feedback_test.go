package postgres_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

// TestRetry_GivesItsFeedbackToItsAttempts retries a failed task with comments of a review. The first attempt dies before its agent starts.
func TestRetry_GivesItsFeedbackToItsAttempts(t *testing.T) {
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
	begin := func(ordinal int64, feedbackID string) string {
		in := contract.BeginAttemptInput{TaskID: a.id, FirstRunID: "run-2", Ordinal: ordinal, Kind: "retry", FeedbackID: feedbackID}
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
	const comments = "a.go, line 7: Return the error."
	require.Equal(t, comments, begin(2, ""))
	failure, err := w.store.SaveText(t.Context(), a.id, "error", "no sandbox")
	require.NoError(t, err)
	require.Equal(t, comments+"\n\nno sandbox", begin(9, failure))

	w.exec(`UPDATE attempts SET ended_at = now(), outcome = 'failed' WHERE task_id = $1`, a.id)
	w.exec(`UPDATE tasks SET status = 'failed', sandbox_id = NULL, completed_at = now() WHERE id = $1`, a.id)
	again := w.command(a.id, task.CommandRetry, `{}`)
	_, err = w.store.LoadTask(t.Context(), contract.TaskRef{TaskID: a.id, CommandID: again, FirstRunID: "run-3"}, "run-3")
	require.NoError(t, err)
	work, err := w.store.Work(t.Context(), a.id)
	require.NoError(t, err)
	require.Equal(t, "no sandbox", work.Feedback, "another retry says nothing")
}
