package postgres_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

// rewind asks for a rewind of the task.
func (s *sender) rewind(to string) (task.CommandResult, error) {
	return s.store.AskTask(s.t.Context(), task.CommandRequest{
		OrganizationID: s.org, TaskID: s.task, Kind: task.CommandRetry, Checkpoint: to, Args: json.RawMessage(`{"checkpoint":"` + to + `"}`),
	})
}

func TestEarlierCheckpoints_AfterARewind(t *testing.T) {
	t.Parallel()
	s := newSender(t, postgres.Config{})
	rewound := func(to string) {
		s.attempt("rewound")
		s.exec(`UPDATE attempts SET restore_from = $1 WHERE sandbox_id = $2`, to, s.box())
	}
	s.send(1, 0, "a")
	s.send(2, 0, "b")
	s.send(3, 2, "c")
	s.send(4, 3, "d")
	s.send(5, 0, "e")
	rewound("1.3")
	chosen := [][]string{{"1.2", "1.3"}, {"1.1"}}
	require.Equal(t, chosen, s.earlier(2), "the segment ends with the chosen checkpoint")
	s.attempt("retry")
	require.Equal(t, chosen, s.earlier(3), "the rewound attempt left none")
	s.attempt("validation")
	require.Empty(t, s.earlier(4))
	s.attempt("retry")
	s.send(1, 0, "f")
	s.send(2, 1, "g")
	s.attempt("retry")
	require.Equal(t, [][]string{{"5.1", "5.2"}, {"1.2", "1.3"}, {"1.1"}}, s.earlier(6), "then its successors")
	s.send(1, 0, "h")
	s.attempt("retry")
	require.Equal(t, [][]string{{"6.1"}, {"5.1", "5.2"}}, s.earlier(7))
	rewound("5.1")
	require.Equal(t, [][]string{{"5.1"}}, s.earlier(8), "another rewind")
	origin, err := s.store.EarlierCheckpoints(t.Context(), s.task, 7)
	require.NoError(t, err)
	require.Equal(t, 2, origin.Rewound)
	s.exec(`INSERT INTO removals (subject, kind, removed_at) VALUES ($1, 'checkpoints', now())`, s.boxes[4])
	require.Empty(t, s.earlier(8), "retention removed it")
}

func TestRewind_NeedsAStoredCheckpoint(t *testing.T) {
	t.Parallel()
	s := newSender(t, postgres.Config{})
	s.exec(`UPDATE tasks SET status = 'running', attempt_count = 1 WHERE id = $1`, s.task)
	s.send(1, 0, "a")
	s.send(2, 1, "b")
	_, err := s.rewind("1.3")
	s.refuses(task.CodeNotFound, "has no checkpoint 1.3", err)
	first, err := s.rewind("1.2")
	require.NoError(t, err)
	again, err := s.rewind("1.2")
	require.NoError(t, err)
	require.Equal(t, first.Command.ID, again.Command.ID, "the same rewind is one command")
	_, err = s.rewind("1.1")
	s.refuses(task.CodeConflict, "Another retry or rewind", err)
	loaded, err := s.store.LoadCommand(t.Context(), contract.LoadCommandInput{
		TaskID: s.task, Command: contract.Command{ID: first.Command.ID, Kind: contract.CommandRetry},
	}, "run")
	require.NoError(t, err)
	require.Equal(t, []string{contract.CommandRetry, "1.2"}, []string{loaded.Kind, loaded.Checkpoint})
	s.exec(`INSERT INTO removals (subject, kind, removed_at) VALUES ($1, 'checkpoints', now())`, s.box())
	_, err = s.rewind("1.2")
	s.refuses(task.CodeGone, "were removed", err)
}

func TestCheckpointCommits(t *testing.T) {
	t.Parallel()
	s := newSender(t, postgres.Config{})
	c, given := s.send(1, 0, "a"), false
	branch := func(attempt int) string {
		from, err := s.store.CheckpointCommits(t.Context(), s.task, checkpoint.ID{Attempt: attempt, Number: 1})
		require.NoError(t, err)
		require.Equal(t, c.Head, from.Head)
		given = from.Given
		return from.Branch
	}
	require.Empty(t, branch(1), "unknown")
	s.exec(`UPDATE tasks SET base_commit = 'base' WHERE id = $1`, s.task)
	s.attempt("retry")
	s.send(1, 0, "a")
	require.Equal(t, "base", branch(2))
	s.exec(`UPDATE attempts SET head_commit = 'published' WHERE task_id = $1 AND number = 1`, s.task)
	require.Equal(t, []string{"base", "published"}, []string{branch(1), branch(2)}, "of an older version")
	require.NoError(t, s.store.SaveBranchCommit(t.Context(), s.box(), "pushed by a user"))
	require.Equal(t, "pushed by a user", branch(2))
	require.False(t, given)
	s.exec(`UPDATE attempts SET head_commit = 'saved' WHERE task_id = $1 AND number = 2`, s.task)
	s.exec(`UPDATE checkpoints SET given = true WHERE task_id = $1 AND attempt = 2`, s.task)
	require.Equal(t, "saved", branch(2), "a user gave the checkpoint")
	require.True(t, given)
	from, err := s.store.CheckpointCommits(t.Context(), s.task, checkpoint.ID{Attempt: 3, Number: 1})
	require.NoError(t, err)
	require.Zero(t, from, "retention removed it")
}

func TestMoveBranch(t *testing.T) {
	t.Parallel()
	s := newSender(t, postgres.Config{})
	s.exec(`UPDATE tasks SET branch_name = 'first', base_commit = 'base', pull_request_url = 'u', pull_request_number = 3 WHERE id = $1`, s.task)
	s.exec(`INSERT INTO pull_request_states (root_id, state, at) VALUES ($1, 'merged', now())`, s.task)
	for range 2 { // the answer was lost
		require.NoError(t, s.store.MoveBranch(t.Context(), s.task, "first", "second"))
	}
	got, err := s.store.Task(t.Context(), s.org, s.task)
	require.NoError(t, err)
	require.Equal(t, []string{"second", "base"}, []string{*got.Branch, *got.Base})
	require.Equal(t, []string{"first"}, got.Earlier)
	require.Nil(t, got.PullURL)
	require.Nil(t, got.PullNumber)
	require.Zero(t, count(t, s.pool, `SELECT count(*) FROM pull_request_states`))
	work, err := s.store.Work(t.Context(), s.task)
	require.NoError(t, err)
	require.Equal(t, []string{"first"}, work.FormerBranches())
	s.refuses(task.CodeConflict, "no longer first", s.store.MoveBranch(t.Context(), s.task, "first", "third"))
}

func TestRewind_BringsACompletedTaskBackOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	w.finish(a, w.running(a), 4, task.StatusCompleted)
	plain := asked{id: a.id, command: w.command(a.id, contract.CommandRetry, `{}`), run: "plain"}
	require.Equal(t, task.StatusCompleted, w.loadAs(plain.ref(), plain.run).Settled)
	again := asked{id: a.id, command: w.command(a.id, contract.CommandRetry, `{"checkpoint":"1.2"}`), run: "again"}
	for range 2 {
		loaded := w.load(again)
		require.Equal(t, "1.2", loaded.Checkpoint)
		require.Equal(t, task.StatusPending, loaded.State.Status)
	}
	require.Empty(t, w.row(a.id, "completed_at"))
	begun, err := w.store.BeginAttempt(t.Context(), contract.BeginAttemptInput{
		TaskID: a.id, FirstRunID: again.run, Ordinal: 5, Kind: "rewound", Checkpoint: "1.2",
	}, again.run)
	require.NoError(t, err)
	require.Equal(t, "1.2", one[string](t, w.pool, `SELECT restore_from FROM attempts WHERE sandbox_id = $1`, begun.SandboxID))
	require.Empty(t, w.loadAs(again.ref(), "reset").Checkpoint, "its attempt has begun")
	w.exec(`UPDATE tasks SET status = 'completed' WHERE id = $1`, a.id)
	require.Equal(t, task.StatusCompleted, w.loadAs(again.ref(), "late").Settled)
}

func TestRewind_DoesNotPublishSavedWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	live := w.running(a)
	w.write(a, contract.Projection{
		Ordinal: 4, Status: task.StatusFailed, Class: task.ClassPublish, ReleaseSlot: true,
		Ended: &contract.AttemptEnd{Number: live.Number, Outcome: "failed", Class: task.ClassPublish},
	})
	w.exec(`UPDATE attempts SET head_commit = 'beef' WHERE task_id = $1`, a.id)
	loaded := w.load(asked{id: a.id, command: w.command(a.id, contract.CommandRetry, `{"checkpoint":"1.2"}`), run: "again"})
	require.False(t, loaded.PublishOnly || loaded.Saved)
}
