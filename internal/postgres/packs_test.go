package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/packstore"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/retention"
	"github.com/omoi-dev/omoi/internal/task"
)

// objects is a store of packs in a folder that can be down.
type objects struct {
	checkpoint.Packs

	dir  string
	down atomic.Bool
	held string // key of an object that cannot be deleted
	puts atomic.Int64
}

func newObjects(t *testing.T) *objects {
	t.Helper()
	dir := t.TempDir()
	packs, err := packstore.Open("file://" + dir)
	require.NoError(t, err)
	return &objects{Packs: packs, dir: dir}
}

var errDown = task.Errorf(task.CodeUnavailable, "The store is down.").WithCause(errors.New("connection refused"))

func (o *objects) Put(ctx context.Context, key string, size int64, content io.Reader) error {
	o.puts.Add(1)
	if o.down.Load() {
		return errDown
	}
	return o.Packs.Put(ctx, key, size, content)
}

func (o *objects) Read(ctx context.Context, key string, offset, most int64) ([]byte, error) {
	if o.down.Load() {
		return nil, errDown
	}
	return o.Packs.Read(ctx, key, offset, most)
}

func (o *objects) Delete(ctx context.Context, key string) error {
	if o.down.Load() || key == o.held {
		return errDown
	}
	return o.Packs.Delete(ctx, key)
}

// names lists the files of the store.
func (o *objects) names(t *testing.T) (names []string) {
	t.Helper()
	found, err := os.ReadDir(o.dir)
	require.NoError(t, err)
	for _, one := range found {
		names = append(names, one.Name())
	}
	return names
}

// pack reads the pack of a checkpoint as the API does.
func (s *sender) pack(taskID string, c checkpoint.Checkpoint) (string, error) {
	var read bytes.Buffer
	for int64(read.Len()) < c.PackBytes {
		chunk, err := s.store.PackChunk(s.t.Context(), taskID, checkpoint.ID{Attempt: c.Attempt, Number: c.Number}, int64(read.Len()))
		if err != nil {
			return read.String(), err
		}
		read.Write(chunk)
	}
	return read.String(), nil
}

func (s *sender) has(c checkpoint.Checkpoint, pack string) {
	s.t.Helper()
	got, err := s.pack(s.task, c)
	require.NoError(s.t, err)
	require.Equal(s.t, pack, got)
}

// retain runs a step of retention after the given time. Only what belongs to no checkpoint is old enough.
func (s *sender) retain(later time.Duration) (retention.Step, error) {
	s.exec(`UPDATE pack_objects SET created_at = created_at - make_interval(secs => $1)`, later.Seconds())
	return s.store.Retain(s.t.Context(), retention.Checkpoints, time.Now(), time.Time{})
}

func (s *sender) tidied() {
	s.t.Helper()
	_, err := s.retain(2 * time.Hour)
	require.NoError(s.t, err)
}

const chunksLeft = `SELECT count(*) FROM checkpoint_chunks`

func TestPack_MovesToTheObjectStore(t *testing.T) {
	t.Parallel()
	o, c := newObjects(t), &counts{}
	s := newSender(t, postgres.Config{Packs: o, Counter: c})
	pack := strings.Repeat("0123456789abcdef", 300)
	for at := 0; at < len(pack); at += 1000 {
		_, err := s.chunk(1, int64(at), pack[at:min(at+1000, len(pack))])
		require.NoError(t, err)
	}
	require.Empty(t, o.names(t), "an upload is in the database")
	first, err := s.seal(1, sealOf(0, pack))
	require.NoError(t, err)
	require.Len(t, o.names(t), 1)
	require.Zero(t, count(t, s.pool, chunksLeft))
	s.has(first, pack)

	again, err := s.seal(1, sealOf(0, pack))
	require.NoError(t, err, "the first answer was lost")
	require.Equal(t, first, again)
	_, err = s.seal(1, sealOf(0, "other"))
	s.refuses(task.CodeConflict, "is sealed with other content", err)
	got, err := s.chunk(1, 0, pack[:1000])
	require.NoError(t, err)
	require.Equal(t, checkpoint.Received{Received: 4800}, got, "the pack is complete")
	require.Len(t, o.names(t), 1)
	require.Equal(t, []string{"checkpoint 4800 0", "failed conflict"}, c.taken())
	s.send(2, 1, "")
	require.Len(t, o.names(t), 1, "a checkpoint without new objects has no pack")

	found, err := s.store.Storage(t.Context(), retention.Policy{})
	require.NoError(t, err)
	for _, k := range found.Kinds {
		require.Equal(t, k.Kind == retention.Checkpoints, k.ObjectBytes == 4800, k.Kind)
	}
	state, err := s.store.State(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 4800, state.PackBytes["objects"])
	require.Positive(t, state.PackBytes["database"])
	require.Zero(t, state.PackBytes["unreadable"])
	emptied, err := postgres.New(s.pool, postgres.Config{}).State(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 4800, emptied.PackBytes["unreadable"])

	s.tidied()
	s.has(first, pack)
	s.exec(`DELETE FROM tasks WHERE id = $1`, s.task)
	_, err = s.retain(0)
	require.NoError(t, err)
	require.Empty(t, o.names(t), "deleted with the task")
	require.Zero(t, count(t, s.pool, `SELECT count(*) FROM pack_objects`))
}

// While the store is down, checkpoints are stored and read as without it, and senders do not wait for it.
func TestPack_StaysInTheDatabaseWhileTheStoreIsDown(t *testing.T) {
	t.Parallel()
	o, c := newObjects(t), &counts{}
	s := newSender(t, postgres.Config{Packs: o, Counter: c})
	moved := s.send(1, 0, "one")
	o.down.Store(true)
	second, third := s.send(2, 1, "two"), s.send(3, 2, "three")
	require.EqualValues(t, 2, o.puts.Load(), "no second try within a minute")
	require.Equal(t, []string{"checkpoint 3 0", "checkpoint 3 0", "failed object_store", "checkpoint 5 0"}, c.taken())
	s.has(second, "two")
	_, err := s.pack(s.task, moved)
	require.Equal(t, task.CodeUnavailable, task.CodeOf(err), "the reader repeats: %v", err)
	require.Equal(t, []string{"failed unreadable"}, c.taken())
	for range 3 {
		_, err = s.retain(2 * time.Hour)
		require.Equal(t, task.CodeUnavailable, task.CodeOf(err))
	}
	o.down.Store(false)
	s.tidied()
	require.Zero(t, count(t, s.pool, chunksLeft))
	require.Len(t, o.names(t), 3)
	for _, one := range []struct {
		c    checkpoint.Checkpoint
		pack string
	}{{moved, "one"}, {second, "two"}, {third, "three"}} {
		s.has(one.c, one.pack)
	}
	s.tidied()
	require.Equal(t, 3, count(t, s.pool, `SELECT count(*) FROM pack_objects`), "the rows of failed tries are gone")
}

func TestPack_MissingOrHalfOneIsDamaged(t *testing.T) {
	t.Parallel()
	o, c := newObjects(t), &counts{}
	s := newSender(t, postgres.Config{Packs: o, Counter: c})
	one := s.send(1, 0, "0123456789")
	path := filepath.Join(o.dir, o.names(t)[0])
	require.NoError(t, os.Truncate(path, 4))
	got, err := s.pack(s.task, one)
	s.refuses(task.CodeNotFound, "missing, or damaged", err)
	require.Equal(t, "0123", got)
	require.NoError(t, os.Remove(path))
	_, err = s.pack(s.task, one)
	s.refuses(task.CodeNotFound, "missing, or damaged", err)
	require.Equal(t, []string{"checkpoint 10 0", "failed unreadable", "failed unreadable"}, c.taken())
	require.Equal(t, [][]string{{"1.1"}}, s.earlier(2), "the sandbox finds out, and goes back to the segment before")

	without := postgres.New(s.pool, postgres.Config{Counter: c})
	_, err = without.PackChunk(t.Context(), s.task, checkpoint.ID{Attempt: 1, Number: 1}, 0)
	require.Equal(t, task.CodeNotFound, task.CodeOf(err))
	require.ErrorContains(t, err, "omoi doctor")
}

// A pack whose chunks are damaged does not stop the others.
func TestPack_WithoutItsChunksIsNotMoved(t *testing.T) {
	t.Parallel()
	o := newObjects(t)
	o.down.Store(true)
	s := newSender(t, postgres.Config{Packs: o})
	s.send(1, 0, "one")
	two := s.send(2, 0, "two")
	s.exec(`DELETE FROM checkpoint_chunks WHERE number = 1`)
	o.down.Store(false)
	s.tidied()
	require.Len(t, o.names(t), 1)
	s.has(two, "two")
	s.tidied()
	require.Equal(t, 1, count(t, s.pool, `SELECT count(*) FROM checkpoints WHERE pack_object IS NOT NULL`))
}

// Chunks and seals of one pack arrive at several API processes at the same time.
func TestPack_IsSentToSeveralProcesses(t *testing.T) {
	t.Parallel()
	o := newObjects(t)
	s := newSender(t, postgres.Config{Packs: o})
	stores := []*postgres.Store{s.store, postgres.New(s.pool, postgres.Config{Packs: o}), postgres.New(s.pool, postgres.Config{Packs: o})}
	to := checkpoint.Upload{SandboxID: s.box(), Number: 1}
	for n, part := range []string{"abc", "def", "ghi"} {
		got, err := stores[n].AppendChunk(t.Context(), checkpoint.Chunk{Upload: to, Offset: int64(3 * n), Content: []byte(part)})
		require.NoError(t, err)
		require.True(t, got.Stored)
	}
	var sealed sync.Map
	var wg sync.WaitGroup
	for n, store := range stores {
		wg.Go(func() {
			c, err := store.SealCheckpoint(t.Context(), to, sealOf(0, "abcdefghi"))
			sealed.Store(n, c)
			if err != nil {
				t.Errorf("seal %d: %v", n, err)
			}
			_, err = store.Retain(t.Context(), retention.Checkpoints, time.Now(), time.Time{})
			if err != nil {
				t.Errorf("retain %d: %v", n, err)
			}
		})
	}
	wg.Wait()
	first, _ := sealed.Load(0)
	for n := range stores {
		other, _ := sealed.Load(n)
		require.Equal(t, first, other)
	}
	s.tidied()
	s.has(first.(checkpoint.Checkpoint), "abcdefghi")
	require.Len(t, o.names(t), 1, "objects that were written twice are deleted")
}

func TestPack_WhoseWriterDiedIsDeleted(t *testing.T) {
	t.Parallel()
	o := newObjects(t)
	s := newSender(t, postgres.Config{Packs: o})
	s.exec(`INSERT INTO pack_objects (key, bytes) VALUES ('whole.pack', 3), ('half.pack', 3), ('never.pack', 3)`)
	for _, name := range []string{"whole.pack", "half.pack.part"} {
		require.NoError(t, os.WriteFile(filepath.Join(o.dir, name), []byte("abc"), 0o600))
	}
	step, err := s.retain(30 * time.Minute)
	require.NoError(t, err)
	require.Zero(t, step.Rows, "its writer may live")
	require.Len(t, o.names(t), 2)
	s.tidied()
	require.Empty(t, o.names(t))
	require.Zero(t, count(t, s.pool, `SELECT count(*) FROM pack_objects`))
}

func TestPack_ThatCannotBeDeletedStopsNoOtherWork(t *testing.T) {
	t.Parallel()
	o := newObjects(t)
	s := newSender(t, postgres.Config{Packs: o})
	s.exec(`INSERT INTO pack_objects (key, bytes, created_at) VALUES ('held.pack', 3, now() - interval '1 day'), ('other.pack', 3, now())`)
	o.down.Store(true)
	c := s.send(1, 0, "abc")
	o.down.Store(false)
	o.held = "held.pack"
	_, err := s.retain(2 * time.Hour)
	require.ErrorIs(t, err, errDown)
	require.Equal(t, 1, count(t, s.pool, `SELECT count(*) FROM pack_objects WHERE key IN ('held.pack', 'other.pack')`))
	require.Zero(t, count(t, s.pool, chunksLeft), "the pack was moved")
	s.has(c, "abc")
}

// Without the setting, packs stay where they are. With the setting, retention moves them, also those of ended tasks.
func TestPack_SettingOfTheStoreCanChange(t *testing.T) {
	t.Parallel()
	s := newSender(t, postgres.Config{})
	one := s.send(1, 0, "one")
	s.tidied()
	require.Equal(t, 1, count(t, s.pool, chunksLeft))
	o := newObjects(t)
	s.store = postgres.New(s.pool, postgres.Config{Packs: o})
	s.tidied()
	require.Zero(t, count(t, s.pool, chunksLeft))
	s.has(one, "one")
	two := s.send(2, 1, "two")
	s.has(two, "two")
}
