package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/retention"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestCheckpoint_OldestSegmentsMakeRoom(t *testing.T) {
	t.Parallel()
	s := newSender(t, postgres.Config{MaxCheckpoints: 60})
	ten := strings.Repeat("x", 10)
	s.send(1, 0, ten)
	s.send(2, 1, ten)
	s.send(3, 0, ten)
	s.attempt("retry")
	s.send(1, 0, ten)
	s.send(2, 0, ten)
	s.send(3, 2, ten)
	require.Equal(t, []string{"2.3", "2.2", "2.1", "1.3", "1.2", "1.1"}, s.stored(), "there is room")
	s.send(4, 0, ten)
	require.Equal(t, []string{"2.4", "2.3", "2.2", "2.1", "1.3"}, s.stored(), "the oldest segment as a whole")
	s.send(5, 0, strings.Repeat("x", 40))
	require.Equal(t, []string{"2.5", "2.4", "1.3"}, s.stored(), "the last segment of the first attempt stays")
	_, err := s.chunk(6, 0, strings.Repeat("x", 51))
	require.NoError(t, err)
	_, err = s.seal(6, sealOf(0, strings.Repeat("x", 51)))
	s.refuses(task.CodeInvalid, "more than 60 bytes", err)
	require.Equal(t, task.KindCheckpointLimit, task.KindOf(err))
	require.Equal(t, []string{"2.5", "2.4", "1.3"}, s.stored(), "nothing is lost")
	s.send(7, 5, ten)
	require.Equal(t, []string{"2.7", "2.5", "1.3"}, s.stored(), "also for a pack that is no keyframe")
	require.Equal(t, 60, count(t, s.pool, `SELECT sum(octet_length(content)) FROM checkpoint_chunks`))
}

// A sender that did not get the answer to the seal of a keyframe continues the segment before.
func TestCheckpoint_SegmentBehindAYoungerKeyframeIsTheNewest(t *testing.T) {
	t.Parallel()
	s := newSender(t, postgres.Config{MaxCheckpoints: 40})
	ten := strings.Repeat("x", 10)
	s.send(1, 0, ten)
	s.send(2, 0, ten)
	s.send(3, 1, ten)
	s.send(4, 3, ten)
	require.Equal(t, [][]string{{"1.1", "1.3", "1.4"}, {"1.2"}}, s.earlier(2))
	s.send(5, 4, ten)
	require.Equal(t, []string{"1.5", "1.4", "1.3", "1.1"}, s.stored(), "the keyframe that nothing builds on makes room")
}

// earlier lists the segments with which an attempt begins.
func (s *sender) earlier(attempt int) (found [][]string) {
	s.t.Helper()
	origin, err := s.store.EarlierCheckpoints(s.t.Context(), s.task, attempt)
	require.NoError(s.t, err)
	for _, segment := range origin.Segments {
		var ids []string
		for _, c := range segment {
			ids = append(ids, c.ID)
		}
		found = append(found, ids)
	}
	return found
}

func TestEarlierCheckpoints_AreTheNewestTwoSegments(t *testing.T) {
	t.Parallel()
	s := newSender(t, postgres.Config{})
	s.send(1, 0, "a")
	s.send(2, 0, "b")
	s.send(3, 2, "c")
	s.send(5, 3, "d")
	_, err := s.chunk(6, 0, "not sealed")
	require.NoError(t, err)
	require.Empty(t, s.earlier(1), "its own are no earlier ones")
	require.Equal(t, [][]string{{"1.2", "1.3", "1.5"}, {"1.1"}}, s.earlier(2))
	s.attempt("retry")
	s.send(1, 0, "a")
	s.attempt("validation")
	s.send(1, 0, "what a validator has")
	require.Empty(t, s.earlier(3), "a validator gets none")
	s.attempt("revision")
	require.Equal(t, [][]string{{"2.1"}, {"1.2", "1.3", "1.5"}}, s.earlier(4))
	s.exec(`INSERT INTO removals (subject, kind, removed_at) VALUES ($1, 'checkpoints', now())`, s.boxes[1])
	require.Equal(t, [][]string{{"1.2", "1.3", "1.5"}, {"1.1"}}, s.earlier(4))
}

func TestTaskCheckpoints_Pages(t *testing.T) {
	t.Parallel()
	s := newSender(t, postgres.Config{})
	for number := 1; number <= 10; number++ {
		s.send(number, number-1, "x")
	}
	s.attempt("retry")
	s.send(1, 0, "x")
	var found []string
	in := client.PageRequest{Limit: 4}
	for more := true; more; {
		page, err := s.store.TaskCheckpoints(t.Context(), s.org, s.task, in)
		require.NoError(t, err)
		for _, c := range page.Items {
			found = append(found, c.ID)
		}
		if more = page.NextCursor != nil; more {
			in.Cursor = *page.NextCursor
		}
	}
	require.Equal(t, []string{"2.1", "1.10", "1.9", "1.8", "1.7", "1.6", "1.5", "1.4", "1.3", "1.2", "1.1"}, found)
	for _, cursor := range []string{"x", "MjAyNi0xMS0yN1QwMDowMDowMFogMw"} { // the second cursor contains item 3
		_, err := s.store.TaskCheckpoints(t.Context(), s.org, s.task, client.PageRequest{Cursor: cursor})
		require.Equal(t, task.KindInvalidCursor, task.KindOf(err))
	}
	page, err := s.store.TaskCheckpoints(t.Context(), task.NewID(), s.task, client.PageRequest{})
	require.NoError(t, err)
	require.Empty(t, page.Items, "of another organization")
	s.exec(`DELETE FROM tasks WHERE id = $1`, s.task)
	require.Zero(t, count(t, s.pool, `SELECT count(*) FROM checkpoint_chunks`), "deleted with the task")
}

func TestRetention_Checkpoints(t *testing.T) {
	t.Parallel()
	p := newPast(t, 100)
	old, young := p.start(), p.start()
	for _, w := range []worked{old, young} {
		p.exec(`INSERT INTO checkpoints (task_id, attempt, number, sandbox_id, sealed_at, segment, pack_bytes) VALUES ($1, 1, 1, $2, now(), 1, 3)`, w.task, w.box)
		p.exec(`INSERT INTO checkpoint_chunks (task_id, attempt, number, "offset", content) VALUES ($1, 1, 1, 0, 'abc')`, w.task)
	}
	p.end(old, task.StatusCompleted)
	p.now = p.now.Add(70 * day)
	rules := retention.Policy{Keep: map[string]time.Duration{retention.Checkpoints: 60 * day}, Ahead: time.Until(p.now)}
	found, err := p.store.Storage(t.Context(), rules)
	require.NoError(t, err)
	for _, k := range found.Kinds {
		require.Equal(t, k.Kind == retention.Checkpoints, k.Expired == 1, k.Kind)
		require.True(t, k.Kind != retention.Checkpoints || *k.Bytes > 0)
	}
	require.EqualValues(t, 1, p.pass(60*day, retention.Checkpoints).Rows)
	require.Equal(t, young.task, one[string](t, p.pool, `SELECT task_id FROM checkpoint_chunks`))
	_, err = p.store.TaskCheckpoints(t.Context(), p.org, old.task, client.PageRequest{})
	require.Equal(t, task.KindDataRemoved, task.KindOf(err))
	_, err = p.store.TaskCheckpoint(t.Context(), old.task, checkpoint.ID{Attempt: 1, Number: 1})
	require.Equal(t, task.KindDataRemoved, task.KindOf(err))
	_, _, err = p.store.SandboxCheckpoint(t.Context(), old.box, checkpoint.ID{Attempt: 1, Number: 1})
	require.Equal(t, task.KindDataRemoved, task.KindOf(err))
	_, err = p.store.TaskCheckpoint(t.Context(), old.task, checkpoint.ID{Attempt: 2, Number: 1})
	require.Equal(t, task.CodeNotFound, task.CodeOf(err), "of an attempt that never was")
	page, err := p.store.TaskCheckpoints(t.Context(), p.org, young.task, client.PageRequest{})
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
}

func TestCheckpoint_ThatARewindNamesStays(t *testing.T) {
	t.Parallel()
	s := newSender(t, postgres.Config{MaxCheckpoints: 50})
	ten := strings.Repeat("x", 10)
	for number := 1; number <= 5; number++ {
		s.send(number, map[int]int{3: 2}[number], ten)
	}
	s.attempt("rewound")
	s.exec(`UPDATE attempts SET restore_from = '1.3' WHERE task_id = $1 AND number = 2`, s.task)
	s.exec(`INSERT INTO commands (id, task_id, kind, args) VALUES ($1, $2, 'retry', '{"checkpoint": "1.4"}')`, task.NewID(), s.task)
	s.send(1, 0, ten)
	require.Equal(t, []string{"2.1", "1.5", "1.4", "1.3", "1.2"}, s.stored(), "the segments of both stay")
	_, err := s.chunk(2, 0, ten)
	require.NoError(t, err)
	_, err = s.seal(2, sealOf(1, ten))
	s.refuses(task.CodeInvalid, "more than 50 bytes", err)
	s.exec(`UPDATE commands SET state = 'refused' WHERE task_id = $1`, s.task)
	_, err = s.seal(2, sealOf(1, ten))
	require.NoError(t, err)
	require.Equal(t, []string{"2.2", "2.1", "1.5", "1.3", "1.2"}, s.stored(), "that of a rewind that was refused makes room")
	s.exec(`UPDATE commands SET state = 'carried_out', settled_at = now(), args = '{"checkpoint": "2.1"}' WHERE task_id = $1`, s.task)
	_, err = s.chunk(3, 0, strings.Repeat("x", 20))
	require.NoError(t, err)
	_, err = s.seal(3, sealOf(0, strings.Repeat("x", 20)))
	s.refuses(task.CodeInvalid, "more than 50 bytes", err) // the attempt of the rewind has not begun
	s.exec(`UPDATE commands SET settled_at = now() - interval '1 hour' WHERE task_id = $1`, s.task)
	_, err = s.seal(3, sealOf(0, strings.Repeat("x", 20)))
	require.NoError(t, err)
}
