package postgres

import (
	"context"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/retention"
	"github.com/omoi-dev/omoi/internal/task"
)

// checkpointRecord returns the row of a sealed checkpoint in the form of the API.
func checkpointRecord(r db.Checkpoint) checkpoint.Checkpoint {
	return checkpoint.Checkpoint{
		ID: checkpoint.ID{Attempt: r.Attempt, Number: r.Number}.String(), Attempt: r.Attempt, Number: r.Number,
		SandboxID: r.SandboxID, StoredAt: task.Deref(r.SealedAt).UTC(), Sequence: r.Sequence,
		Sealed: checkpoint.Sealed{
			Base: r.BaseNumber, PackBytes: r.PackBytes, PackSHA256: r.PackSha256, Commit: r.Commit, Head: r.HeadCommit,
			HeadRef: r.HeadRef, Files: r.Files, Bytes: r.Bytes, Index: r.HasIndex, GitState: r.HasGitState,
			ToolCall: r.ToolCallID, RunningCall: r.RunningToolCall, RunID: r.RunID,
			Transcript: r.TranscriptBytes, Torn: r.Torn, LeftOut: r.LeftOut, FilesOnly: r.FilesOnly, TakenAt: task.Deref(r.TakenAt).UTC(),
		},
	}
}

// TaskCheckpoints lists the checkpoints of a task, newest first. [task.CodeGone] if retention removed all of them.
func (s *Store) TaskCheckpoints(ctx context.Context, organizationID, taskID string, in client.PageRequest) (client.Page[checkpoint.Checkpoint], error) {
	page, err := pageOf(in, func(p place) ([]db.Checkpoint, error) {
		find := db.TaskCheckpointsParams{TaskID: taskID, OrganizationID: organizationID, MaxRows: p.rows}
		if p.id != nil {
			before, err := checkpoint.ParseID(*p.id)
			if err != nil {
				return nil, task.InvalidCursor("cursor")
			}
			find.BeforeAttempt, find.BeforeNumber = &before.Attempt, &before.Number
		}
		return s.q.TaskCheckpoints(ctx, find)
	}, checkpointRecord, func(c checkpoint.Checkpoint) (time.Time, string) { return c.StoredAt, c.ID })
	if err == nil && len(page.Items) == 0 && in.Cursor == "" {
		err = checkpointsRemoved(ctx, s.q, taskID, 0)
	}
	return page, translate("list the checkpoints", err)
}

// TaskCheckpoint returns one checkpoint of a task. [task.CodeGone] if retention removed it.
func (s *Store) TaskCheckpoint(ctx context.Context, taskID string, id checkpoint.ID) (checkpoint.Checkpoint, error) {
	return taskCheckpoint(ctx, s.q, taskID, id)
}

func taskCheckpoint(ctx context.Context, q *db.Queries, taskID string, id checkpoint.ID) (checkpoint.Checkpoint, error) {
	row, err := q.SealedCheckpoint(ctx, db.SealedCheckpointParams{TaskID: taskID, Attempt: id.Attempt, Number: id.Number})
	if removed := checkpointsRemoved(ctx, q, taskID, id.Attempt); removed != nil {
		return checkpoint.Checkpoint{}, removed
	}
	return checkpointRecord(row), missing(translate("read the checkpoint", err), "Task %s has no checkpoint %s.", taskID, id)
}

// NewestCheckpoint returns the newest checkpoint of an attempt. [task.CodeNotFound] if there is none, [task.CodeGone] if retention
// removed them.
func (s *Store) NewestCheckpoint(ctx context.Context, taskID string, attempt int) (checkpoint.Checkpoint, error) {
	row, err := s.q.NewestSealed(ctx, taskID, attempt)
	if removed := checkpointsRemoved(ctx, s.q, taskID, attempt); removed != nil && attempt > 0 {
		return checkpoint.Checkpoint{}, removed
	}
	return checkpointRecord(row), missing(translate("read the newest checkpoint", err), "Attempt %d of task %s has no checkpoint.", attempt, taskID)
}

// CheckpointChain returns the checkpoints that a checkpoint needs, in order, and that checkpoint. [task.CodeGone] if one is missing.
func (s *Store) CheckpointChain(ctx context.Context, taskID string, c checkpoint.Checkpoint) ([]checkpoint.Checkpoint, error) {
	chain, err := checkpointChain(ctx, s.q, taskID, c)
	return chain, translate("read the checkpoints before "+c.ID, err)
}

func checkpointChain(ctx context.Context, q *db.Queries, taskID string, c checkpoint.Checkpoint) ([]checkpoint.Checkpoint, error) {
	rows, err := q.SegmentCheckpoints(ctx, db.SegmentCheckpointsParams{TaskID: taskID, Attempt: c.Attempt, Number: c.Number})
	if err != nil {
		return nil, err
	}
	chain := checkpoint.ChainTo(c, mapAll(rows, checkpointRecord))
	if len(chain) == 0 {
		return nil, incompleteChain(taskID, c)
	}
	return chain, nil
}

func incompleteChain(taskID string, c checkpoint.Checkpoint) error {
	return task.Errorf(task.CodeGone, "Checkpoint %s of task %s cannot be restored: a part of it was deleted. Next: choose a newer one.", c.ID, taskID)
}

// SandboxCheckpoint is TaskCheckpoint for a sandbox: it returns checkpoints of all attempts of the sandbox's task, and
// the ID of that task.
func (s *Store) SandboxCheckpoint(ctx context.Context, sandboxID string, id checkpoint.ID) (taskID string, c checkpoint.Checkpoint, err error) {
	_, taskID, err = s.SandboxOwner(ctx, sandboxID)
	switch {
	case err != nil:
		return "", c, err
	case taskID == "":
		return "", c, task.Errorf(task.CodeNotFound, "Sandbox %s runs no attempt of a task.", sandboxID)
	}
	c, err = s.TaskCheckpoint(ctx, taskID, id)
	return taskID, c, err
}

// checkpointsRemoved returns [task.CodeGone] if retention removed the checkpoints of an attempt; 0: of any attempt.
func checkpointsRemoved(ctx context.Context, q *db.Queries, taskID string, attempt int) error {
	at, err := q.CheckpointsRemoved(ctx, &taskID, attempt)
	if err != nil || len(at) == 0 {
		return translate("read removals", err)
	}
	return retention.Removed(retention.Checkpoints, "task "+taskID, at[0])
}
