package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"reflect"
	"strconv"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// SealCheckpoint completes a checkpoint whose pack is stored. If the packs of the task then exceed the allowed bytes,
// the oldest segments are deleted. A repeated call with the same content returns the same result. Errors: as of
// [Store.AppendChunk]; [task.CodeConflict] if the stored pack, the base or the sealed content differs;
// [task.CodeInvalid] if the packs that must stay exceed the allowed bytes, in which case no segment is deleted.
func (s *Store) SealCheckpoint(ctx context.Context, at checkpoint.Upload, sealed checkpoint.Sealed) (checkpoint.Checkpoint, error) {
	var row db.Checkpoint
	var scan int64
	fresh := false
	for n, sentence := range sealed.LeftOut {
		sealed.LeftOut[n] = textcut.First(sentence, checkpoint.MaxSentence)
	}
	out, err := uploading(ctx, s, at, func(u upload) (_ checkpoint.Checkpoint, err error) {
		if err := u.giveUp(ctx, at.Number); err != nil {
			return checkpoint.Checkpoint{}, err
		}
		row, err = u.open(ctx, at.Number)
		if fresh = row.SealedAt == nil; err == nil && fresh {
			row, scan, err = u.seal(ctx, row, sealed)
		}
		stored := checkpointRecord(row)
		if err == nil && !fresh && !sameContent(stored.Sealed, sealed) {
			err = u.conflict(at.Number, "is sealed with other content")
		}
		return stored, err
	})
	if err == nil && fresh {
		s.cfg.Counter.CheckpointStored(out.PackBytes, scan)
		s.moveNew(ctx, row)
	}
	s.countUpload(ctx, err)
	return out, translate("seal a checkpoint", err)
}

// sameContent compares two checkpoints in their stored form.
func sameContent(a, b checkpoint.Sealed) bool {
	for _, of := range []*checkpoint.Sealed{&a, &b} {
		of.TakenAt, of.LeftOut = of.TakenAt.UTC().Round(time.Microsecond), append([]string{}, of.LeftOut...)
	}
	return reflect.DeepEqual(a, b)
}

// seal completes the row of a checkpoint, and returns the number of changes that only a scan found.
func (u upload) seal(ctx context.Context, row db.Checkpoint, c checkpoint.Sealed) (_ db.Checkpoint, foundByScan int64, err error) {
	segment, err := u.segment(ctx, row, c.Base)
	if err == nil {
		err = u.check(ctx, row, c)
	}
	if err != nil {
		return row, 0, err
	}
	told, _, err := maybe(u.q.CheckpointSequence(ctx, db.CheckpointSequenceParams{
		EventType: event.AgentCheckpoint, Number: strconv.Itoa(row.Number), ID: row.SandboxID,
	}))
	if err != nil {
		return row, 0, err
	}
	row, err = u.q.SealCheckpoint(ctx, db.SealCheckpointParams{
		TaskID: u.taskID, Attempt: u.attempt, Number: row.Number, Segment: segment, BaseNumber: c.Base,
		PackSha256: c.PackSHA256, Commit: c.Commit, HeadCommit: c.Head, HeadRef: c.HeadRef, Files: c.Files, Bytes: c.Bytes,
		HasIndex: c.Index, HasGitState: c.GitState, Sequence: told.Sequence, ToolCallID: c.ToolCall,
		RunningToolCall: c.RunningCall, RunID: c.RunID, TranscriptBytes: c.Transcript, Torn: c.Torn,
		LeftOut: append([]string{}, c.LeftOut...), FilesOnly: c.FilesOnly, Given: u.given, TakenAt: new(c.TakenAt.Round(time.Microsecond)),
	})
	if err == nil {
		err = u.trim(ctx)
	}
	return row, told.FoundByScan, err
}

// segment returns the segment of a checkpoint with this base.
func (u upload) segment(ctx context.Context, row db.Checkpoint, base int) (int, error) {
	if base == 0 {
		return row.Number, nil
	}
	after, found, err := maybe(u.q.SegmentAfter(ctx, db.SegmentAfterParams{TaskID: u.taskID, Attempt: u.attempt, Base: base, Number: row.Number}))
	switch {
	case err != nil:
	case !found:
		err = u.conflict(row.Number, "cannot follow checkpoint "+checkpoint.ID{Attempt: u.attempt, Number: base}.String()+", which is not stored")
	case after.Length >= checkpoint.MaxSegment:
		err = u.conflict(row.Number, "follows too many others since the last keyframe")
	}
	return after.Segment, err
}

// check compares the stored pack with the description of its sender.
func (u upload) check(ctx context.Context, row db.Checkpoint, c checkpoint.Sealed) error {
	if row.PackBytes != c.PackBytes {
		return u.conflict(row.Number, "has another number of stored bytes than pack_bytes says")
	}
	sum := sha256.New()
	_, err := io.Copy(sum, packReader(ctx, u.q, row))
	if err == nil && hex.EncodeToString(sum.Sum(nil)) != c.PackSHA256 {
		err = u.conflict(row.Number, "has another sum of stored bytes than pack_sha256 says")
	}
	return err
}

// trim deletes the oldest segments of the task if its packs exceed the allowed bytes.
func (u upload) trim(ctx context.Context) error {
	for dropped := int64(1); dropped > 0; {
		size, err := u.q.CheckpointBytes(ctx, u.taskID)
		if err != nil || size <= u.max {
			return err
		}
		if dropped, err = u.q.DropSegments(ctx, u.taskID, size-u.max); err != nil {
			return err
		}
	}
	return task.Errorf(task.CodeInvalid, "The checkpoints of the task would have more than %d bytes. Next: an operator raises checkpoint.max_bytes", u.max).
		WithKind(task.KindCheckpointLimit)
}
