package postgres

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/retention"
	"github.com/omoi-dev/omoi/internal/task"
)

const (
	moveWait  = 20 * time.Second // timeout of moving a pack while its sender waits
	moveAgain = time.Minute      // time without moves after a failure, so that senders do not wait for a store that is down
	tidyWait  = 10 * time.Minute // timeout of a step that moves or deletes packs; less than the hour that a new object may lack a checkpoint
	tidyPacks = 20               // maximum of packs that one step moves or deletes
)

// errNoChunk reports that the database lacks a chunk of a pack.
var errNoChunk = errors.New("a chunk of the pack is missing")

// packReader reads the chunks of a pack in the database.
func packReader(ctx context.Context, q *db.Queries, row db.Checkpoint) io.Reader {
	at, chunk := int64(0), []byte(nil)
	return readerFunc(func(p []byte) (int, error) {
		if len(chunk) == 0 && at == row.PackBytes {
			return 0, io.EOF
		}
		if len(chunk) == 0 {
			found, _, err := maybe(q.PackChunk(ctx, db.PackChunkParams{TaskID: row.TaskID, Attempt: row.Attempt, Number: row.Number, Offset: at}))
			if err == nil && len(found.Content) == 0 {
				err = errNoChunk
			}
			if err != nil {
				return 0, err
			}
			chunk = found.Content
			at += int64(len(chunk))
		}
		n := copy(p, chunk)
		chunk = chunk[n:]
		return n, nil
	})
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// PackChunk returns the bytes of a checkpoint's pack from an offset on: in the database up to the end of their chunk, where the offset
// is 0 or the end of another chunk. [task.CodeNotFound] if the pack is not stored, or a part of it is missing.
func (s *Store) PackChunk(ctx context.Context, taskID string, id checkpoint.ID, offset int64) ([]byte, error) {
	found, err := s.q.PackChunk(ctx, db.PackChunkParams{TaskID: taskID, Attempt: id.Attempt, Number: id.Number, Offset: offset})
	switch {
	case err != nil:
		return nil, missing(translate("read a pack", err), "The pack of checkpoint %s is no longer stored.", id)
	case found.PackObject == nil && len(found.Content) > 0:
		return found.Content, nil
	case found.PackObject != nil && s.cfg.Packs != nil:
		found.Content, err = s.cfg.Packs.Read(ctx, *found.PackObject, offset, checkpoint.MaxChunk)
	default:
		err = task.Errorf(task.CodeNotFound, "The database has no such chunk, and checkpoint.store is empty.")
	}
	if err != nil {
		s.cfg.Log.WarnContext(ctx, "read pack failed", slog.String("task_id", taskID), slog.String("checkpoint", id.String()), slog.Any("error", err))
		s.cfg.Counter.CheckpointFailed(PackUnreadable)
	}
	return found.Content, missing(translate("read a pack", err), "The pack of checkpoint %s is missing, or damaged. Next: omoi doctor, on the server", id)
}

// PacksInObjects returns the number of checkpoints whose packs are in an object store.
func (s *Store) PacksInObjects(ctx context.Context) (int64, error) {
	n, err := s.q.PacksInObjects(ctx)
	return n, translate("count packs in objects", err)
}

// movePack copies the pack of a sealed checkpoint to the object store, and then removes it from the database. If movePack fails, the pack
// stays there. Retention deletes an object that is not used.
func (s *Store) movePack(ctx context.Context, row db.Checkpoint) (err error) {
	id := checkpoint.ID{Attempt: row.Attempt, Number: row.Number}
	defer func() {
		if err != nil {
			s.cfg.Log.WarnContext(ctx, "move pack failed", slog.String("task_id", row.TaskID), slog.String("checkpoint", id.String()), slog.Any("error", err))
			s.cfg.Counter.CheckpointFailed(PackNotMoved)
		}
	}()
	key := row.TaskID + "-" + id.String() + "-" + task.NewID() + ".pack"
	if err := s.q.BeginPackObject(ctx, key, row.PackBytes); err != nil {
		return translate("record an object", err)
	}
	if err := s.cfg.Packs.Put(ctx, key, row.PackBytes, packReader(ctx, s.q, row)); err != nil {
		return err
	}
	_, err = s.q.MovePack(ctx, db.MovePackParams{Key: key, TaskID: row.TaskID, Attempt: row.Attempt, Number: row.Number, PackSha256: row.PackSha256})
	return translate("move a pack", err)
}

// moveNew moves the pack of a new checkpoint. After a failure, and while another pack is moved, retention moves what is left.
func (s *Store) moveNew(ctx context.Context, row db.Checkpoint) {
	if s.cfg.Packs == nil || row.PackBytes == 0 || time.Now().UnixNano() < s.moves.Load() || !s.moving.TryLock() {
		return
	}
	defer s.moving.Unlock()
	ctx, cancel := context.WithTimeout(ctx, moveWait)
	defer cancel()
	if s.movePack(ctx, row) != nil {
		s.moves.Store(time.Now().Add(moveAgain).UnixNano())
	}
}

// tidy deletes objects without a checkpoint, and moves packs that are left in the database to the object store. The next pass repeats
// what fails.
func (s *Store) tidy(ctx context.Context) (done retention.Step, err error) {
	if s.cfg.Packs == nil {
		return done, nil
	}
	ctx, cancel := context.WithTimeout(ctx, tidyWait)
	defer cancel()
	var kept error // an object that cannot be deleted stops no other work
	done.Rows, kept = s.deleteOrphans(ctx)
	left, err := s.q.PacksToMove(ctx, tidyPacks)
	if err != nil {
		return done, errors.Join(kept, translate("list packs", err))
	}
	moved := 0
	for _, row := range left {
		switch err := s.movePack(ctx, row); {
		case err == nil:
			moved++
		case !errors.Is(err, errNoChunk): // the others can be moved
			return done, errors.Join(kept, err)
		}
	}
	done.More = len(left) == tidyPacks && moved > 0 || done.Rows == tidyPacks
	return done, kept
}

// deleteOrphans deletes objects of deleted checkpoints, and of packs that were not moved.
func (s *Store) deleteOrphans(ctx context.Context) (int64, error) {
	keys, err := s.q.MarkOrphans(ctx, tidyPacks)
	if err != nil {
		return 0, translate("mark orphaned objects", err)
	}
	var deleted []string
	var kept error
	for _, key := range keys {
		if err := s.cfg.Packs.Delete(ctx, key); err != nil {
			kept = errors.Join(kept, err)
			continue
		}
		deleted = append(deleted, key)
	}
	return int64(len(deleted)), errors.Join(kept, translate("forget orphaned objects", s.q.ForgetObjects(ctx, deleted)))
}
