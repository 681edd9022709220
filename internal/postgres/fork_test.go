package postgres_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/retention"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/transcript"
)

// forks creates a fork of the task; edit may be nil.
func (s *sender) forks(from string, edit func(*task.NewTask)) (task.Accepted, error) {
	source, err := s.store.Task(s.t.Context(), s.org, s.task)
	require.NoError(s.t, err)
	d := task.NewTask{
		OrganizationID: s.org, TicketID: source.TicketID, Title: "fork", Description: "fork", TaskType: "implementation",
		PhaseID: "PHASE_IMPLEMENTATION", Priority: "MEDIUM", Mode: "implementation", Agent: source.Agent, Provider: "local",
		Fork: &task.NewFork{TaskID: s.task, Checkpoint: from},
	}
	if edit != nil {
		edit(&d)
	}
	return s.store.AcceptTask(s.t.Context(), d)
}

// says stores the transcript of a run of the newest attempt.
func (s *sender) says(run, text string) {
	s.t.Helper()
	_, err := s.store.AppendTranscript(s.t.Context(), transcript.Piece{
		SandboxID: s.box(), RunID: run, SessionID: "session", Content: []byte(text), Limit: 100,
	})
	require.NoError(s.t, err)
}

// begins is the sandbox of the first attempt of a fork, as the fork sees the checkpoints.
func (s *sender) begins(id string) *sender {
	s.t.Helper()
	fork := &sender{world: s.world, task: id}
	fork.attempt("forked")
	return fork
}

func TestFork_HasItsOwnCopy(t *testing.T) {
	t.Parallel()
	s := newSender(t, postgres.Config{})
	s.exec(`UPDATE tasks SET branch_name = 'x-2', earlier_branches = '{x}', base_commit = 'base',
		execution_config = '{"script":{"steps":[]},"env":{"KEY":"secret","MODEL":"old"}}' WHERE id = $1`, s.task)
	require.NoError(t, s.store.SaveBranchCommit(t.Context(), s.box(), "began"))
	s.says("run-1", "0123456789ab, later")
	s.says("run-1.beside", "files")
	s.send(1, 0, "an older segment")
	s.send(2, 0, "keyframe")
	s.send(3, 2, "")
	s.send(4, 3, "thin")
	s.send(5, 4, "later")

	made, err := s.forks("1.4", func(d *task.NewTask) { d.Execution = json.RawMessage(`{"env":{"MODEL":"new"}}`) })
	require.NoError(t, err)
	fork := s.begins(made.TaskID)
	require.Equal(t, [][]string{{"0.2", "0.3", "0.4"}}, fork.earlier(1))
	got, err := s.store.Task(t.Context(), s.org, made.TaskID)
	require.NoError(t, err)
	source, err := s.store.Task(t.Context(), s.org, s.task)
	require.NoError(t, err)
	require.Equal(t, &task.ForkedFrom{TaskID: s.task, TaskKey: source.Key, Checkpoint: "1.4", Branches: []string{"x", "x-2"}}, got.ForkedFrom)
	require.Equal(t, source.TicketID, got.TicketID)
	require.Nil(t, got.Branch)
	require.Equal(t, "began", *got.Base)
	work, err := s.store.Work(t.Context(), made.TaskID)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"KEY": "secret", "MODEL": "new"}, work.Execution.Env)
	require.JSONEq(t, `{"steps":[]}`, string(work.Execution.Script))
	require.Equal(t, []string{"x", "x-2"}, work.FormerBranches())

	s.exec(`DELETE FROM tasks WHERE id = $1`, s.task) // with its checkpoints and transcripts
	id := checkpoint.ID{Number: 4}
	_, c, err := s.store.SandboxCheckpoint(t.Context(), fork.box(), id)
	require.NoError(t, err)
	want := sealOf(3, "thin")
	want.RunID = "fork-" + made.TaskID
	require.Equal(t, asStored(want), asStored(c.Sealed))
	require.Empty(t, c.SandboxID)
	pack, err := s.store.PackChunk(t.Context(), made.TaskID, id, 0)
	require.NoError(t, err)
	require.Equal(t, "thin", string(pack))
	session, found, err := s.store.RunTranscript(t.Context(), made.TaskID, c.RunID)
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, []any{"session", 0}, []any{session.SessionID, session.Attempt})
	text, err := s.store.SandboxTranscript(t.Context(), fork.box(), c.RunID)
	require.NoError(t, err)
	require.Equal(t, "0123456789ab", string(text), "up to the checkpoint")
	text, err = s.store.SandboxTranscript(t.Context(), fork.box(), c.RunID+transcript.Beside)
	require.NoError(t, err)
	require.Equal(t, "files", string(text))

	commits, err := s.store.CheckpointCommits(t.Context(), made.TaskID, id)
	require.NoError(t, err)
	require.Equal(t, "began", commits.Branch, "a rewind of the fork to its beginning")
	again := &sender{world: s.world, task: made.TaskID, boxes: fork.boxes}
	made, err = again.forks("0.3", nil)
	require.NoError(t, err, "a fork of a fork")
	require.Equal(t, [][]string{{"0.2", "0.3"}}, s.begins(made.TaskID).earlier(1))
}

// asStored returns a checkpoint as it is stored.
func asStored(c checkpoint.Sealed) checkpoint.Sealed {
	c.TakenAt = c.TakenAt.UTC().Round(time.Microsecond)
	return c
}

// A fork shares the objects of its source, and keeps them after the deletion of the source.
func TestFork_SharesObjects(t *testing.T) {
	t.Parallel()
	o := newObjects(t)
	s := newSender(t, postgres.Config{Packs: o})
	s.send(1, 0, "one")
	o.down.Store(true)
	s.send(2, 1, "in the database")
	o.down.Store(false)
	made, err := s.forks("1.2", nil)
	require.NoError(t, err)
	s.exec(`DELETE FROM tasks WHERE id = $1`, s.task)
	s.tidied()
	for number, want := range map[int]string{1: "one", 2: "in the database"} {
		pack, err := s.pack(made.TaskID, checkpoint.Checkpoint{Number: number, Sealed: checkpoint.Sealed{PackBytes: int64(len(want))}})
		require.NoError(t, err)
		require.Equal(t, want, pack)
	}
	s.exec(`DELETE FROM tasks WHERE id = $1`, made.TaskID)
	s.tidied()
	require.Empty(t, o.names(t))
}

func TestFork_OfAnotherAgentHasNoSession(t *testing.T) {
	t.Parallel()
	s := newSender(t, postgres.Config{})
	s.exec(`UPDATE tasks SET execution_config = '{"env":{"MODEL":"old"}}' WHERE id = $1`, s.task)
	s.says("run-1", "0123456789ab")
	s.send(1, 0, "a")
	made, err := s.forks("1.1", func(d *task.NewTask) { d.Agent = "claude" })
	require.NoError(t, err)
	fork := s.begins(made.TaskID)
	_, c, err := s.store.SandboxCheckpoint(t.Context(), fork.box(), checkpoint.ID{Number: 1})
	require.NoError(t, err)
	require.Empty(t, c.RunID)
	require.Zero(t, count(t, s.pool, `SELECT count(*) FROM transcripts WHERE task_id = $1`, made.TaskID))
	work, err := s.store.Work(t.Context(), made.TaskID)
	require.NoError(t, err)
	require.Empty(t, work.Execution.Env, "the model is of the other agent")
	require.Empty(t, work.Base, "without a branch")
}

func TestFork_OfAnIncompleteCheckpoint(t *testing.T) {
	t.Parallel()
	s := newSender(t, postgres.Config{})
	s.send(1, 0, "a")
	s.send(2, 1, "b")
	for _, from := range []string{"1.3", "2.1", "0.1"} {
		_, err := s.forks(from, nil)
		s.refuses(task.CodeNotFound, "has no checkpoint "+from, err)
	}
	_, err := s.forks("x", nil)
	s.refuses(task.CodeInvalid, "names no checkpoint", err)
	_, err = s.forks("1.1", func(d *task.NewTask) { d.Fork.TaskID = task.NewID() })
	s.refuses(task.CodeNotFound, "There is no task", err)
	s.exec(`DELETE FROM checkpoint_chunks WHERE task_id = $1 AND number = 1`, s.task)
	_, err = s.forks("1.2", nil)
	s.refuses(task.CodeGone, "a part of it was deleted", err)
	s.exec(`DELETE FROM checkpoints WHERE task_id = $1 AND number = 1`, s.task)
	_, err = s.forks("1.2", nil)
	s.refuses(task.CodeGone, "a part of it was deleted", err)
	s.exec(`INSERT INTO removals (subject, kind, removed_at) VALUES ($1, 'checkpoints', now())`, s.box())
	_, err = s.forks("1.2", nil)
	s.refuses(task.CodeGone, "were removed", err)
	require.Equal(t, 1, count(t, s.pool, `SELECT count(*) FROM tasks`), "no fork remains of a refusal")
}

func TestFork_BeginsAsAFork(t *testing.T) {
	t.Parallel()
	s := newSender(t, postgres.Config{})
	s.send(1, 0, "a")
	made, err := s.forks("1.1", nil)
	require.NoError(t, err)
	command := one[string](t, s.pool, `SELECT id FROM commands WHERE task_id = $1`, made.TaskID)
	loaded, err := s.store.LoadTask(t.Context(), contract.TaskRef{TaskID: made.TaskID, FirstRunID: "run", CommandID: command}, "run")
	require.NoError(t, err)
	key := one[string](t, s.pool, `SELECT key FROM tasks WHERE id = $1`, s.task)
	require.Equal(t, key+" 1.1", loaded.ForkedFrom)
	require.Empty(t, loaded.Checkpoint)
}

// TestRetention_OfAFork removes the copy with which a fork began when the fork has expired.
func TestRetention_OfAFork(t *testing.T) {
	t.Parallel()
	p := newPast(t, 100)
	w := p.start()
	p.exec(`INSERT INTO checkpoints (task_id, attempt, number, sandbox_id, sealed_at, segment) VALUES ($1, 0, 1, '', now(), 1)`, w.task)
	p.exec(`UPDATE tasks SET forked_from = '{}' WHERE id = $1`, w.task)
	p.exec(`INSERT INTO transcripts (run_key, task_id, sandbox_id, content) VALUES ('fork-x', $1, '', 'said')`, w.task)
	p.end(w, task.StatusCompleted)
	p.now = p.now.Add(70 * day)
	p.pass(60*day, retention.Checkpoints, retention.Transcripts)
	require.Zero(t, count(t, p.pool, `SELECT count(*) FROM checkpoints`))
	require.Zero(t, count(t, p.pool, `SELECT count(*) FROM transcripts WHERE octet_length(content) > 0`))
	_, err := p.store.TaskCheckpoint(t.Context(), w.task, checkpoint.ID{Number: 1})
	require.Equal(t, task.KindDataRemoved, task.KindOf(err))
}

// TestRetention_OfAForkWithoutASandbox removes the copy of a fork that was cancelled before its first attempt.
func TestRetention_OfAForkWithoutASandbox(t *testing.T) {
	t.Parallel()
	s := newSender(t, postgres.Config{})
	s.says("run-1", "0123456789ab")
	s.send(1, 0, "a")
	made, err := s.forks("1.1", nil)
	require.NoError(t, err)
	copies := func() int {
		return count(t, s.pool, `SELECT (SELECT count(*) FROM checkpoints WHERE attempt = 0) + (SELECT count(*) FROM transcripts WHERE sandbox_id = '')`)
	}
	retain := func() {
		for _, kind := range []string{retention.Checkpoints, retention.Transcripts} {
			_, err := s.store.Retain(t.Context(), kind, time.Now(), time.Now())
			require.NoError(t, err)
		}
	}
	retain()
	require.Equal(t, 2, copies(), "the fork has not ended")
	s.exec(`UPDATE commands SET state = 'carried_out'`)
	s.exec(`UPDATE tasks SET status = 'cancelled', completed_at = now() - interval '1 day' WHERE id = $1`, made.TaskID)
	retain()
	require.Zero(t, copies())
}

func TestFork_OfAPositionBehindTheTranscript(t *testing.T) {
	t.Parallel()
	s := newSender(t, postgres.Config{})
	s.says("run-1", "0123456789")
	sealed := sealOf(0, "")
	sealed.Transcript = 5 << 30
	_, err := s.seal(1, sealed)
	require.NoError(t, err)
	made, err := s.forks("1.1", nil)
	require.NoError(t, err)
	require.Equal(t, "0123456789", one[string](t, s.pool, `SELECT convert_from(content, 'UTF8') FROM transcripts WHERE task_id = $1`, made.TaskID))
}

// TestRetention_OfManyForks removes their copies in steps, because a copy has up to checkpoint.max_bytes.
func TestRetention_OfManyForks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	p := w.project(5)
	for range 12 {
		a := w.task(p, "forked_from = '{}', status = 'cancelled', queued_at = NULL, completed_at = now() - interval '1 day'")
		w.exec(`INSERT INTO checkpoints (task_id, attempt, number, sandbox_id, sealed_at, segment) SELECT $1, 0, n, '', now(), 1 FROM generate_series(1, 2) n`, a.id)
	}
	w.exec(`UPDATE commands SET state = 'carried_out'`)
	var steps []int64
	for more := true; more; {
		step, err := w.store.Retain(t.Context(), retention.Checkpoints, time.Now(), time.Now())
		require.NoError(t, err)
		steps, more = append(steps, step.Rows), step.More
	}
	require.Equal(t, []int64{10, 10, 4, 0}, steps)
	require.Zero(t, count(t, w.pool, `SELECT count(*) FROM checkpoints`))
}
