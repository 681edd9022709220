package postgres_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestCheckpoint_HigherNumberGivesUpTheUploadBefore(t *testing.T) {
	t.Parallel()
	s := newSender(t, postgres.Config{})
	s.send(1, 0, "one")
	_, err := s.chunk(2, 0, "given up")
	require.NoError(t, err)
	_, err = s.chunk(5, 0, "five")
	require.NoError(t, err)
	require.Equal(t, 2, count(t, s.pool, `SELECT count(*) FROM checkpoint_chunks`))
	for _, number := range []int{2, 4} {
		_, err = s.chunk(number, 0, "late")
		s.refuses(task.CodeConflict, "is behind checkpoint 1.5", err)
		_, err = s.seal(number, sealOf(1, ""))
		s.refuses(task.CodeConflict, "is behind checkpoint 1.5", err)
	}
	_, err = s.chunk(1, 0, "other")
	s.refuses(task.CodeConflict, "has other bytes there", err)
	_, err = s.seal(5, sealOf(1, "five"))
	require.NoError(t, err)
	_, err = s.chunk(6, 0, "six")
	require.NoError(t, err)
	_, err = s.seal(6, sealOf(1, "six"))
	require.NoError(t, err, "its sender may not know that 1.5 is stored")
	require.Equal(t, []string{"1.6", "1.5", "1.1"}, s.stored())
	require.Equal(t, [][]string{{"1.1", "1.6"}}, s.earlier(2))
}

func TestCheckpoint_UnfinishedUploadOfAnEarlierAttemptMakesRoom(t *testing.T) {
	t.Parallel()
	s := newSender(t, postgres.Config{MaxCheckpoints: 6})
	s.send(1, 0, "a")
	_, err := s.chunk(2, 0, "lost with its sandbox")
	require.NoError(t, err)
	s.attempt("retry")
	s.send(1, 0, "b")
	require.Equal(t, []string{"2.1", "1.1"}, s.stored())
	require.Equal(t, 2, count(t, s.pool, `SELECT count(*) FROM checkpoint_chunks`))
}

func TestCheckpoint_OfAnOlderAttemptIsRefused(t *testing.T) {
	t.Parallel()
	s := newSender(t, postgres.Config{})
	s.send(1, 0, "one")
	first := s.box()
	s.attempt("retry")
	_, err := s.store.AppendChunk(t.Context(), checkpoint.Chunk{Upload: checkpoint.Upload{SandboxID: first, Number: 2}, Content: []byte("late")})
	s.refuses(task.CodeConflict, "A newer attempt of the task exists", err)
	_, err = s.store.SealCheckpoint(t.Context(), checkpoint.Upload{SandboxID: first, Number: 1}, sealOf(0, "one"))
	s.refuses(task.CodeConflict, "A newer attempt of the task exists", err)
	require.Equal(t, "2.1", s.send(1, 0, "two").ID)
	require.Equal(t, []string{"2.1", "1.1"}, s.stored())

	given := checkpoint.Upload{SandboxID: first, Number: 2, User: true}
	_, err = s.store.AppendChunk(t.Context(), checkpoint.Chunk{Upload: given, Content: []byte("mine")})
	s.refuses(task.CodeConflict, "Attempt 1 of the task is running", err)
	require.Equal(t, task.KindContinued, task.KindOf(err))
	s.exec(`UPDATE sandboxes SET ended_at = now() WHERE id = $1`, first)
	_, err = s.store.AppendChunk(t.Context(), checkpoint.Chunk{Upload: given, Content: []byte("mine")})
	require.NoError(t, err, "a user works on what an older attempt left")
	_, err = s.store.SealCheckpoint(t.Context(), given, sealOf(1, "mine"))
	require.NoError(t, err)
	require.Equal(t, []string{"2.1", "1.2", "1.1"}, s.stored())
	require.Equal(t, 1, count(t, s.pool, `SELECT count(*) FROM checkpoints WHERE given AND attempt = 1 AND number = 2`))
	require.Equal(t, 1, count(t, s.pool, `SELECT count(*) FROM checkpoints WHERE given`))
	_, err = s.store.AppendChunk(t.Context(), checkpoint.Chunk{Upload: checkpoint.Upload{SandboxID: "unknown", Number: 1}, Content: []byte("x")})
	s.refuses(task.CodeNotFound, "no sandbox", err)
	s.exec(`INSERT INTO sandboxes (id, provider, state) VALUES ('bare', 'bare', 'running')`)
	_, err = s.store.AppendChunk(t.Context(), checkpoint.Chunk{Upload: checkpoint.Upload{SandboxID: "bare", Number: 1}, Content: []byte("x")})
	s.refuses(task.CodeNotFound, "runs no attempt", err)
}

// The test sends concurrent requests of one attempt, as after a lost connection, and of the attempt that replaces it.
func TestCheckpoint_RequestsAtOnce(t *testing.T) {
	t.Parallel()
	s := newSender(t, postgres.Config{})
	first := s.box()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for n := range 10 {
				_, err := s.store.AppendChunk(t.Context(), checkpoint.Chunk{Upload: checkpoint.Upload{SandboxID: first, Number: 1}, Offset: int64(n), Content: []byte("x")})
				if code := task.CodeOf(err); err != nil && code != task.CodeConflict && code != task.CodeUnavailable {
					t.Errorf("chunk %d: %v", n, err)
				}
			}
		})
	}
	s.attempt("retry")
	second := s.box()
	wg.Go(func() {
		_, err := s.store.AppendChunk(t.Context(), checkpoint.Chunk{Upload: checkpoint.Upload{SandboxID: second, Number: 1}, Content: []byte("two")})
		if err != nil {
			t.Error(err)
		}
	})
	wg.Wait()
	require.Zero(t, count(t, s.pool, `SELECT count(*) FROM checkpoints c
		WHERE pack_bytes <> (SELECT coalesce(sum(octet_length(content)), 0) FROM checkpoint_chunks k WHERE k.task_id = c.task_id AND k.attempt = c.attempt)`))
	_, err := s.seal(1, sealOf(0, "two"))
	require.NoError(t, err)
	require.Equal(t, []string{"2.1"}, s.stored())
}

func TestCheckpoint_OneRequestOfASandboxAtATime(t *testing.T) {
	t.Parallel()
	s := newSender(t, postgres.Config{})
	tx, err := s.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `SELECT pg_advisory_xact_lock(hashtextextended('omoi checkpoints ' || $1, 0))`, s.task)
	require.NoError(t, err)
	first := make(chan error)
	go func() {
		_, err := s.chunk(1, 0, "x")
		first <- err
	}()
	waits := func() bool {
		return count(t, s.pool, `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`) == 1
	}
	require.Eventually(t, waits, time.Minute, time.Millisecond)
	_, err = s.chunk(1, 0, "x")
	require.Equal(t, task.KindOverloaded, task.KindOf(err), "%v", err)
	require.NoError(t, tx.Rollback(t.Context()))
	require.NoError(t, <-first)
	_, err = s.chunk(1, 1, "y")
	require.NoError(t, err)
}

func TestCheckpoint_SegmentIsBounded(t *testing.T) {
	t.Parallel()
	s := newSender(t, postgres.Config{})
	s.send(1, 0, "a")
	for n := 2; n <= checkpoint.MaxSegment; n++ {
		s.send(n, n-1, "")
	}
	_, err := s.seal(checkpoint.MaxSegment+1, sealOf(checkpoint.MaxSegment, ""))
	s.refuses(task.CodeConflict, "send a keyframe", err)
	s.send(checkpoint.MaxSegment+2, 0, "b")
}

func TestCheckpoint_SentencesAreCut(t *testing.T) {
	t.Parallel()
	s := newSender(t, postgres.Config{})
	for range 2 { // the same request again
		said := sealOf(0, "")
		said.LeftOut = []string{strings.Repeat("é", checkpoint.MaxSentence)}
		c, err := s.seal(1, said)
		require.NoError(t, err)
		require.Equal(t, []string{strings.Repeat("é", checkpoint.MaxSentence/2)}, c.LeftOut)
	}
}

// omoi give was interrupted, or the attempt was, and the user repeats it with other files.
func TestCheckpoint_OfAUserReplacesUnfinishedUploads(t *testing.T) {
	t.Parallel()
	s := newSender(t, postgres.Config{})
	s.send(1, 0, "a")
	_, err := s.chunk(3, 0, "of the agent")
	require.NoError(t, err)
	s.exec(`UPDATE sandboxes SET ended_at = now() WHERE id = $1`, s.box())
	s.exec(`UPDATE attempts SET ended_at = now() WHERE task_id = $1`, s.task)
	given := checkpoint.Upload{SandboxID: s.box(), Number: 2, User: true}
	for _, content := range []string{"first", "another"} {
		got, err := s.store.AppendChunk(t.Context(), checkpoint.Chunk{Upload: given, Content: []byte(content)})
		require.NoError(t, err)
		require.True(t, got.Stored)
	}
	got, err := s.store.AppendChunk(t.Context(), checkpoint.Chunk{Upload: given, Offset: 7, Content: []byte(" end")})
	require.NoError(t, err)
	require.True(t, got.Stored)
	_, err = s.store.SealCheckpoint(t.Context(), given, sealOf(1, "another end"))
	require.NoError(t, err)

	_, err = s.chunk(9, 0, "left again")
	require.NoError(t, err)
	given.Number = 4
	_, err = s.store.SealCheckpoint(t.Context(), given, sealOf(2, ""))
	require.NoError(t, err, "without a chunk")
	s.attempt("retry")
	require.Equal(t, [][]string{{"1.1"}}, s.earlier(2), "what was given counts once an attempt began with it")
	s.exec(`UPDATE attempts SET restore_from = '1.4', kind = 'rewound' WHERE sandbox_id = $1`, s.box())
	require.Equal(t, [][]string{{"1.1", "1.2", "1.4"}}, s.earlier(2))
}

func TestCheckpoint_HasTheSequenceOfItsEvent(t *testing.T) {
	t.Parallel()
	c := &counts{}
	s := newSender(t, postgres.Config{Counter: c})
	for sequence, data := range map[int]string{
		41: `{"checkpoint": 1, "found_by_scan": 3}`, 43: `{"checkpoint": 3, "found_by_scan": -1}`,
		44: `{"checkpoint": 4, "found_by_scan": 1e300}`, 45: `{"checkpoint": 5, "found_by_scan": "many"}`, 46: `{"checkpoint": 6}`,
	} {
		s.exec(`INSERT INTO sandbox_events (partition_month, sandbox_id, sequence, event_type, source, event_data)
			SELECT partition_month, id, $2, 'agent.checkpoint', 'worker', $3 FROM sandboxes WHERE id = $1`, s.box(), sequence, data)
	}
	require.EqualValues(t, 41, s.send(1, 0, "one").Sequence)
	require.Zero(t, s.send(2, 1, "two").Sequence)
	again, err := s.seal(1, sealOf(0, "one"))
	require.NoError(t, err)
	require.EqualValues(t, 41, again.Sequence)
	for number := 3; number <= 6; number++ {
		s.send(number, number-1, "x")
	}
	require.Equal(t, []string{"checkpoint 3 3", "checkpoint 3 0", "checkpoint 1 0", "checkpoint 1 1000000", "checkpoint 1 0", "checkpoint 1 0"},
		c.taken(), "what a sandbox says is bounded")
}
