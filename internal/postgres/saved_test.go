package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

// unpublished returns a task that failed while publishing.
func (w world) unpublished(edit string) asked {
	w.t.Helper()
	a := w.task(w.project(5), edit)
	live := w.running(a)
	w.write(a, contract.Projection{
		Ordinal: 4, Status: task.StatusFailed, Class: task.ClassPublish, ReleaseSlot: true,
		Ended: &contract.AttemptEnd{Number: live.Number, Outcome: "failed", Class: task.ClassPublish, Reason: "A rule protects the branch."},
	})
	w.exec(`UPDATE tasks SET provider = 'local', agent = 'scripted' WHERE id = $1`, a.id)
	again := asked{id: a.id, command: w.command(a.id, contract.CommandRetry, `{}`), run: "again"}
	w.load(again)
	w.exec(`UPDATE tasks SET provider = 'external', agent = 'external' WHERE id = $1`, a.id) // a provider with room
	return again
}

func (w world) attempts(a asked) []task.Attempt {
	w.t.Helper()
	got, err := w.store.Task(w.t.Context(), w.org, a.id)
	require.NoError(w.t, err)
	return got.Attempts
}

// An attempt whose work a retry published did not fail.
func TestPublishedLater_ClearsFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.unpublished("")
	w.write(a, contract.Projection{Ordinal: 5, Status: task.StatusPending, RequestSlot: true})
	require.Equal(t, "failed", w.attempts(a)[0].Outcome, "it is not published yet")
	w.write(a, contract.Projection{Ordinal: 6, Status: task.StatusCompleted, ReleaseSlot: true})
	got := w.attempts(a)[0]
	require.Equal(t, []any{"completed", task.ClassNone}, []any{got.Outcome, got.FailureClass})
	require.Equal(t, "published by a retry; before: A rule protects the branch.", got.Reason)
}

// An attempt whose work was done again failed, and so did one with another failure.
func TestPublishedLater_RepeatedWorkFailed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.unpublished("")
	second := w.begin(a, 5)
	w.write(a, contract.Projection{Ordinal: 6, Status: task.StatusAssigned, SandboxID: second.SandboxID})
	w.write(a, contract.Projection{Ordinal: 7, Status: task.StatusRunning, SandboxID: second.SandboxID})
	w.write(a, contract.Projection{
		Ordinal: 8, Status: task.StatusCompleted, ReleaseSlot: true, Ended: &contract.AttemptEnd{Number: second.Number, Outcome: "completed"},
	})
	require.Equal(t, []string{"failed", "completed"}, []string{w.attempts(a)[0].Outcome, w.attempts(a)[1].Outcome})
}

// Saved work that was pushed and approved counts as published.
func TestPublishedLater_ApprovedWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.unpublished("validation_rounds = 3")
	w.write(a, contract.Projection{Ordinal: 5, Status: task.StatusPending, RequestSlot: true})
	w.write(a, contract.Projection{Ordinal: 6, Status: task.StatusPendingValidation})
	validator := w.validator(a, 7)
	w.write(a, contract.Projection{Ordinal: 8, Status: task.StatusValidating, SandboxID: validator.SandboxID})
	w.write(a, contract.Projection{
		Ordinal: 9, Status: task.StatusCompleted, ReleaseSlot: true, Ended: &contract.AttemptEnd{Number: validator.Number, Outcome: "completed"},
	})
	require.Equal(t, []string{"completed", "completed"}, []string{w.attempts(a)[0].Outcome, w.attempts(a)[1].Outcome})
}
