package postgres_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

// sender is a task whose attempts send checkpoints.
type sender struct {
	world

	task  string
	boxes []string // by attempt - 1
}

func newSender(t *testing.T, cfg postgres.Config) *sender {
	t.Helper()
	w := newWorld(t, cfg)
	s := &sender{world: w, task: w.task(w.project(5), "").id}
	s.attempt("first")
	return s
}

// attempt begins the next attempt.
func (s *sender) attempt(kind string) {
	s.t.Helper()
	box, number := task.NewSandboxID(), len(s.boxes)+1
	s.exec(`INSERT INTO sandboxes (id, organization_id, task_id, attempt, provider, machine, state) VALUES ($1, $2, $3, $4, 'local', true, 'running')`,
		box, s.org, s.task, number)
	s.exec(`INSERT INTO attempts (task_id, number, sandbox_id, kind, run_id, ordinal) VALUES ($1, $2, $3, $4, 'run', $2::integer)`, s.task, number, box, kind)
	s.boxes = append(s.boxes, box)
}

func (s *sender) box() string { return s.boxes[len(s.boxes)-1] }

// chunk sends a chunk of the newest attempt.
func (s *sender) chunk(number int, offset int64, content string) (checkpoint.Received, error) {
	return s.store.AppendChunk(s.t.Context(), checkpoint.Chunk{Upload: checkpoint.Upload{SandboxID: s.box(), Number: number}, Offset: offset, Content: []byte(content)})
}

// sealOf describes a checkpoint with this pack.
func sealOf(base int, pack string) checkpoint.Sealed {
	sum := sha256.Sum256([]byte(pack))
	return checkpoint.Sealed{
		Base: base, PackBytes: int64(len(pack)), PackSHA256: hex.EncodeToString(sum[:]), Commit: strings.Repeat("c", 40),
		Head: strings.Repeat("b", 40), HeadRef: "refs/heads/x", Files: 3, Bytes: 9, Index: true, GitState: true, FilesOnly: true,
		ToolCall: "toolu_1", RunningCall: "Bash", RunID: "run-1", Transcript: 12, Torn: true, LeftOut: []string{"a.bin: 40 MiB"},
		TakenAt: time.Date(2026, 11, 27, 1, 2, 3, 456789123, time.FixedZone("", 3600)),
	}
}

func (s *sender) seal(number int, sealed checkpoint.Sealed) (checkpoint.Checkpoint, error) {
	return s.store.SealCheckpoint(s.t.Context(), checkpoint.Upload{SandboxID: s.box(), Number: number}, sealed)
}

// send stores a whole checkpoint.
func (s *sender) send(number, base int, pack string) checkpoint.Checkpoint {
	s.t.Helper()
	if pack != "" {
		got, err := s.chunk(number, 0, pack)
		require.NoError(s.t, err)
		require.True(s.t, got.Stored)
	}
	c, err := s.seal(number, sealOf(base, pack))
	require.NoError(s.t, err)
	return c
}

// stored lists the checkpoints of the task, newest first.
func (s *sender) stored() (ids []string) {
	s.t.Helper()
	page, err := s.store.TaskCheckpoints(s.t.Context(), s.org, s.task, client.PageRequest{})
	require.NoError(s.t, err)
	for _, c := range page.Items {
		ids = append(ids, c.ID)
	}
	return ids
}

func (s *sender) refuses(code task.Code, text string, err error) {
	s.t.Helper()
	require.Equal(s.t, code, task.CodeOf(err), "%v", err)
	require.Contains(s.t, task.MessageOf(err), text)
}

func TestCheckpoint_IsStoredAsSent(t *testing.T) {
	t.Parallel()
	c := &counts{}
	s := newSender(t, postgres.Config{Counter: c})
	_, err := s.chunk(1, 0, "one")
	require.NoError(t, err)
	got, err := s.chunk(1, 3, "two")
	require.NoError(t, err)
	require.Equal(t, checkpoint.Received{Stored: true, Received: 6}, got)
	require.Empty(t, s.stored(), "it is not sealed")
	want := sealOf(0, "onetwo")
	first, err := s.seal(1, want)
	require.NoError(t, err)
	require.Equal(t, []any{"1.1", 1, 1, s.box()}, []any{first.ID, first.Attempt, first.Number, first.SandboxID})
	want.TakenAt = want.TakenAt.UTC().Round(time.Microsecond)
	require.Equal(t, want, first.Sealed)
	read, err := s.store.TaskCheckpoint(t.Context(), s.task, checkpoint.ID{Attempt: 1, Number: 1})
	require.NoError(t, err)
	require.Equal(t, first, read)

	again, err := s.seal(1, sealOf(0, "onetwo"))
	require.NoError(t, err, "the first answer was lost")
	require.Equal(t, first, again)
	require.Equal(t, []string{"checkpoint 6 0"}, c.taken())
	other := sealOf(0, "onetwo")
	other.Torn = false
	_, err = s.seal(1, other)
	s.refuses(task.CodeConflict, "is sealed with other content", err)

	require.Equal(t, "1.2", s.send(2, 1, "").ID, "a checkpoint without new objects")
	require.Equal(t, []string{"1.2", "1.1"}, s.stored())
	require.Equal(t, []string{"failed conflict", "checkpoint 0 0"}, c.taken())
}

func TestCheckpoint_ChunksFollowEachOther(t *testing.T) {
	t.Parallel()
	s := newSender(t, postgres.Config{})
	get := func(offset int64, content string) checkpoint.Received {
		t.Helper()
		got, err := s.chunk(1, offset, content)
		require.NoError(t, err)
		return got
	}
	require.Equal(t, checkpoint.Received{}, get(3, "def"), "the chunk before is missing")
	require.Equal(t, checkpoint.Received{Stored: true, Received: 3}, get(0, "abc"))
	require.Equal(t, checkpoint.Received{Stored: true, Received: 3}, get(0, "abc"), "its answer was lost")
	require.Equal(t, checkpoint.Received{Received: 3}, get(4, "e"))
	require.Equal(t, checkpoint.Received{Received: 3}, get(1, "bcd"), "no chunk begins there")
	require.Equal(t, checkpoint.Received{Stored: true, Received: 6}, get(3, "def"))
	require.Equal(t, checkpoint.Received{Stored: true, Received: 6}, get(0, "abc"))
	_, err := s.chunk(1, 0, "abX")
	s.refuses(task.CodeConflict, "has other bytes there", err)

	for name, wrong := range map[string]checkpoint.Sealed{"stored bytes than pack_bytes": sealOf(0, "abc"), "pack_sha256": sealOf(0, "abcdeX"), "cannot follow checkpoint 1.9": sealOf(9, "abcdef")} {
		_, err := s.seal(1, wrong)
		s.refuses(task.CodeConflict, name, err)
	}
	require.Empty(t, s.stored())
	_, err = s.seal(1, sealOf(0, "abcdef"))
	require.NoError(t, err)
	_, err = s.chunk(1, 6, "ghi")
	s.refuses(task.CodeConflict, "is sealed", err)
	require.Equal(t, checkpoint.Received{Stored: true, Received: 6}, get(3, "def"), "also after the seal")
}

func TestCheckpoint_PackOfManyChunksHasItsBytes(t *testing.T) {
	t.Parallel()
	s := newSender(t, postgres.Config{})
	pack := strings.Repeat("0123456789abcdef", 300)
	for at := 0; at < len(pack); at += 1000 {
		_, err := s.chunk(1, int64(at), pack[at:min(at+1000, len(pack))])
		require.NoError(t, err)
	}
	_, err := s.seal(1, sealOf(0, pack))
	require.NoError(t, err)
	var read bytes.Buffer
	for read.Len() < len(pack) {
		chunk, err := s.store.PackChunk(t.Context(), s.task, checkpoint.ID{Attempt: 1, Number: 1}, int64(read.Len()))
		require.NoError(t, err)
		read.Write(chunk)
	}
	require.Equal(t, pack, read.String())
	_, err = s.store.PackChunk(t.Context(), s.task, checkpoint.ID{Attempt: 1, Number: 1}, 1)
	require.Equal(t, task.CodeNotFound, task.CodeOf(err))
}

func TestCheckpoint_PackIsBounded(t *testing.T) {
	t.Parallel()
	s := newSender(t, postgres.Config{})
	_, err := s.chunk(1, 0, "abc")
	require.NoError(t, err)
	s.exec(`UPDATE checkpoints SET pack_bytes = $1`, checkpoint.MaxPack)
	_, err = s.chunk(1, checkpoint.MaxPack, "d")
	s.refuses(task.CodeInvalid, "A pack has at most", err)
	require.Equal(t, task.KindCheckpointLimit, task.KindOf(err))
}
