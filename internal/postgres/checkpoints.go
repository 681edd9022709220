package postgres

import (
	"context"

	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// maxUploads is the number of connections that uploads of checkpoints use at most, so that event commits stay fast.
const maxUploads = 2

// uploading runs do in a transaction that holds the lock of the checkpoints of a sandbox's task. A sandbox has one request at a time, so
// that it cannot take the places of all others.
func uploading[T any](ctx context.Context, s *Store, at checkpoint.Upload, do func(u upload) (T, error)) (out T, err error) {
	if _, busy := s.senders.LoadOrStore(at.SandboxID, true); busy {
		return out, task.Errorf(task.CodeUnavailable, "Another request of sandbox %s is being stored. Next: send the request again in a second", at.SandboxID).
			WithKind(task.KindOverloaded)
	}
	defer s.senders.Delete(at.SandboxID)
	select {
	case s.uploads <- struct{}{}:
		defer func() { <-s.uploads }()
	case <-ctx.Done():
		return out, ctx.Err()
	}
	return txResult(ctx, s, func(q *db.Queries) (T, error) {
		box, err := uploader(ctx, q, at)
		if err != nil {
			return out, err
		}
		return do(upload{q: q, sandboxID: at.SandboxID, given: at.User, taskID: *box.TaskID, attempt: box.Attempt, max: s.cfg.MaxCheckpoints})
	})
}

// uploader returns the attempt of a sandbox that may send checkpoints, and locks the checkpoints of its task.
func uploader(ctx context.Context, q *db.Queries, at checkpoint.Upload) (db.CheckpointSandboxRow, error) {
	if err := q.LockCheckpoints(ctx, at.SandboxID); err != nil {
		return db.CheckpointSandboxRow{}, err
	}
	box, err := q.CheckpointSandbox(ctx, at.SandboxID)
	switch {
	case err != nil:
		return box, missing(translate("find the sandbox", err), "There is no sandbox %s.", at.SandboxID)
	case box.TaskID == nil:
		return box, task.Errorf(task.CodeNotFound, "Sandbox %s runs no attempt of a task.", at.SandboxID)
	case box.Outdated && !at.User:
		return box, task.Errorf(task.CodeConflict, "A newer attempt of the task exists: attempt %d sends no more checkpoints.", box.Attempt)
	case at.User && !box.Ended:
		return box, task.Errorf(task.CodeConflict, "Attempt %d of the task is running, and its agent sends the checkpoints. Next: omoi take", box.Attempt).
			WithKind(task.KindContinued)
	}
	return box, nil
}

// upload is one request of a sandbox that sends a checkpoint.
type upload struct {
	q         *db.Queries
	sandboxID string
	given     bool // a user sends
	taskID    string
	attempt   int
	max       int64 // maximum bytes of all packs of the task
}

// AppendChunk adds a chunk to the pack of a checkpoint. The first chunk of a number discards an upload under a lower
// number. A chunk that does not follow the stored bytes changes nothing; the result says where to continue. Errors:
// [task.CodeNotFound] for a sandbox without a task; [task.CodeConflict] if a newer attempt exists, a user sends while the attempt runs, a higher number
// has begun, or other bytes are stored;
// [task.CodeInvalid] for a pack that is too long.
func (s *Store) AppendChunk(ctx context.Context, c checkpoint.Chunk) (checkpoint.Received, error) {
	got, err := uploading(ctx, s, c.Upload, func(u upload) (checkpoint.Received, error) { return u.append(ctx, c) })
	s.countUpload(ctx, err)
	return got, translate("store a chunk of a checkpoint", err)
}

// countUpload counts a failed request of a sender.
func (s *Store) countUpload(ctx context.Context, err error) {
	switch {
	case err == nil, ctx.Err() != nil, task.CodeOf(err) == task.CodeNotFound:
	case task.KindOf(err) == task.KindCheckpointLimit:
		s.cfg.Counter.CheckpointFailed(UploadLimit)
	case task.CodeOf(err) == task.CodeConflict:
		s.cfg.Counter.CheckpointFailed(UploadConflict)
	default:
		s.cfg.Counter.CheckpointFailed(UploadFailed)
	}
}

// giveUp removes other unfinished uploads of the attempt for a user, whose upload would have to follow them: their senders are gone.
func (u upload) giveUp(ctx context.Context, keep int) error {
	if !u.given {
		return nil
	}
	return u.q.GiveUpUploads(ctx, db.GiveUpUploadsParams{TaskID: u.taskID, Attempt: u.attempt, Keep: keep})
}

func (u upload) append(ctx context.Context, c checkpoint.Chunk) (checkpoint.Received, error) {
	keep := c.Number
	if c.Offset == 0 { // the files may have changed since an interrupted upload
		keep = 0
	}
	if err := u.giveUp(ctx, keep); err != nil {
		return checkpoint.Received{}, err
	}
	row, err := u.open(ctx, c.Number)
	has, size := checkpoint.Received{Received: row.PackBytes}, c.Offset+int64(len(c.Content))
	switch {
	case err != nil:
		return has, err
	case c.Offset < row.PackBytes:
		return u.repeated(ctx, c, has)
	case row.SealedAt != nil:
		return has, u.conflict(c.Number, "is sealed")
	case c.Offset > row.PackBytes:
		return has, nil
	case size > checkpoint.MaxPack:
		return has, task.Errorf(task.CodeInvalid, "A pack has at most %d bytes.", checkpoint.MaxPack).WithKind(task.KindCheckpointLimit)
	}
	return checkpoint.Received{Stored: true, Received: size}, u.q.AddChunk(ctx, db.AddChunkParams{
		TaskID: u.taskID, Attempt: u.attempt, Number: c.Number, Offset: c.Offset, Content: c.Content,
	})
}

// repeated returns the result for a chunk that starts before the end of the stored bytes.
func (u upload) repeated(ctx context.Context, c checkpoint.Chunk, has checkpoint.Received) (checkpoint.Received, error) {
	same, found, err := maybe(u.q.SameChunk(ctx, db.SameChunkParams{
		Content: c.Content, TaskID: u.taskID, Attempt: u.attempt, Number: c.Number, Offset: c.Offset,
	}))
	if err == nil && found && !same {
		err = u.conflict(c.Number, "has other bytes there")
	}
	has.Stored = same
	return has, err
}

// open returns the row of a checkpoint. The row is created if the number is the highest one of the attempt.
func (u upload) open(ctx context.Context, number int) (db.Checkpoint, error) {
	newest, found, err := maybe(u.q.NewestCheckpoint(ctx, u.taskID, u.attempt))
	switch {
	case err != nil, found && newest.Number == number:
		return newest, err
	case !found, newest.Number < number:
		return u.q.BeginCheckpoint(ctx, db.BeginCheckpointParams{TaskID: u.taskID, Attempt: u.attempt, Number: number, SandboxID: u.sandboxID})
	}
	row, found, err := maybe(u.q.SealedCheckpoint(ctx, db.SealedCheckpointParams{TaskID: u.taskID, Attempt: u.attempt, Number: number}))
	if err == nil && !found {
		err = u.conflict(number, "is behind checkpoint "+checkpoint.ID{Attempt: u.attempt, Number: newest.Number}.String())
	}
	return row, err
}

func (u upload) conflict(number int, why string) error {
	return task.Errorf(task.CodeConflict, "Checkpoint %s %s. Next: send a keyframe under a higher number", checkpoint.ID{Attempt: u.attempt, Number: number}, why)
}
