package postgres

import (
	"context"
	"math"

	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// rewindable refuses a checkpoint that does not exist.
func rewindable(ctx context.Context, q *db.Queries, a task.CommandRequest) error {
	if a.Checkpoint == "" {
		return nil
	}
	id, err := checkpoint.ParseID(a.Checkpoint)
	if err != nil {
		return err
	}
	_, err = taskCheckpoint(ctx, q, a.TaskID, id)
	return err
}

// continued refuses a given checkpoint if the task has continued since its work was taken.
func continued(a task.CommandRequest, newest *db.Attempt) error {
	if a.AfterAttempt == 0 || newest != nil && newest.Number == a.AfterAttempt && newest.EndedAt != nil {
		return nil
	}
	return task.Errorf(task.CodeConflict, "Task %s has continued since attempt %d. Next: omoi checkpoints %[1]s", a.TaskID, a.AfterAttempt).
		WithKind(task.KindContinued)
}

// CheckpointCommits returns the commits that a checkpoint needs; zero if the checkpoint is not stored.
func (s *Store) CheckpointCommits(ctx context.Context, taskID string, id checkpoint.ID) (checkpoint.Commits, error) {
	return checkpointCommits(ctx, s.q, taskID, id)
}

func checkpointCommits(ctx context.Context, q *db.Queries, taskID string, id checkpoint.ID) (checkpoint.Commits, error) {
	row, _, err := maybe(q.CheckpointCommits(ctx, db.CheckpointCommitsParams{TaskID: taskID, Attempt: id.Attempt, Number: id.Number}))
	return checkpoint.Commits{Head: row.HeadCommit, Branch: row.BranchCommit, Given: row.Given}, translate("read the commits of checkpoint "+id.String(), err)
}

// sameAsk refuses a command while another one of its kind is under way that would drop what this one says: feedback, approval, or the
// checkpoint of a rewind.
func sameAsk(open db.Command, a task.CommandRequest) error {
	was, feedback := readObject(open.Args), readObject(a.Args).text("feedback")
	what := "retry or rewind"
	switch {
	case feedback != "" && feedback != was.text("feedback"), a.Kind == task.CommandVerdict && a.OK != was.yes("passed"):
		what = a.Kind
	case a.Kind != task.CommandRetry, was.text("checkpoint") == a.Checkpoint:
		return nil
	}
	return task.Errorf(task.CodeConflict, "Another %s of task %s is in progress. Next: omoi show %[2]s, then repeat", what, a.TaskID).WithKind(task.KindInvalidState)
}

// EarlierCheckpoints returns the checkpoints with which an attempt begins: those that earlier attempts left, since the newest
// rewind, then those up to the checkpoint of this rewind. A validator neither leaves any nor gets any.
func (s *Store) EarlierCheckpoints(ctx context.Context, taskID string, attempt int) (origin checkpoint.Origin, err error) {
	rewind, rewound, err := maybe(s.q.NewestRewind(ctx, taskID, attempt))
	if err == nil {
		origin.Rewound = rewind.Number
		origin.Segments, err = s.segments(ctx, db.EarlierCheckpointsParams{
			TaskID: taskID, Attempt: attempt, Since: rewind.Number, LastAttempt: attempt - 1, LastNumber: math.MaxInt32,
		})
	}
	if err == nil && rewound && len(origin.Segments) < 2 {
		var to checkpoint.ID
		if to, err = checkpoint.ParseID(rewind.RestoreFrom); err != nil {
			return origin, err
		}
		var chosen [][]checkpoint.Checkpoint
		chosen, err = s.segments(ctx, db.EarlierCheckpointsParams{
			TaskID: taskID, Attempt: attempt, Since: to.Attempt, LastAttempt: to.Attempt, LastNumber: to.Number,
		})
		origin.Segments = append(origin.Segments, chosen...)
	}
	return origin, translate("look for earlier checkpoints", err)
}

// segments returns the newest two segments, the newest one first, each in order of its numbers.
func (s *Store) segments(ctx context.Context, which db.EarlierCheckpointsParams) (segments [][]checkpoint.Checkpoint, err error) {
	rows, err := s.q.EarlierCheckpoints(ctx, which)
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].Attempt == rows[0].Attempt && rows[n].Segment == rows[0].Segment {
			n++
		}
		segments = append(segments, checkpoint.Segments(mapAll(rows[:n], checkpointRecord))...)
		rows = rows[n:]
	}
	return segments, err
}
