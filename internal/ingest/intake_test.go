package ingest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestSingleIsNumberedAndReadable(t *testing.T) {
	t.Parallel()
	b := setup(t)
	intake, sandbox := b.intake(ingest.IntakeConfig{}, nil), b.sandbox()
	first, err := intake.Single(within(t), sandbox, ingest.Event{Type: "agent.started", Source: "worker", Data: json.RawMessage(`{"a": 1}`)}, false)
	require.NoError(t, err)
	require.Equal(t, sandbox+":1", first.EventID)
	require.NotEmpty(t, first.TaskID)
	second, err := intake.Single(within(t), sandbox, ingest.Event{Type: "agent.tool_use"}, false)
	require.NoError(t, err)
	require.Equal(t, int64(2), second.Sequence)

	page, err := b.store.Events(t.Context(), ingest.EventQuery{SandboxID: sandbox})
	require.NoError(t, err)
	require.Equal(t, int64(2), page.Total)
	require.Equal(t, "agent.tool_use", page.Events[0].Type, "newest first")
	require.JSONEq(t, `{}`, string(page.Events[0].Data))
	require.Equal(t, "agent", page.Events[0].Source)
	require.Equal(t, first.CreatedAt.UTC(), page.Events[1].CreatedAt)
	require.JSONEq(t, `{"a": 1}`, string(page.Events[1].Data))
	require.Equal(t, "worker", page.Events[1].Source)
}

func TestWithoutAKeyEveryPostIsAnEvent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	intake, sandbox := b.intake(ingest.IntakeConfig{}, nil), b.sandbox()
	for range 3 {
		_, err := intake.Single(within(t), sandbox, newEvent("agent.heartbeat"), false)
		require.NoError(t, err)
	}
	b.contiguous(sandbox, 3)
}

func TestAKeyMakesARepeatHarmless(t *testing.T) {
	t.Parallel()
	b := setup(t)
	intake, sandbox, other := b.intake(ingest.IntakeConfig{}, nil), b.sandbox(), b.sandbox()
	keyed := newEvent("agent.completed")
	keyed.ClientEventID = "k-1"
	first, err := intake.Single(within(t), sandbox, keyed, false)
	require.NoError(t, err)
	_, err = intake.Single(within(t), sandbox, newEvent("agent.waiting"), false)
	require.NoError(t, err)
	again, err := intake.Single(within(t), sandbox, keyed, false)
	require.NoError(t, err)
	require.Equal(t, first.EventID, again.EventID)
	require.Equal(t, first.CreatedAt.UTC(), again.CreatedAt.UTC())
	require.True(t, again.Duplicate)
	b.contiguous(sandbox, 2)
	elsewhere, err := intake.Single(within(t), other, keyed, false)
	require.NoError(t, err)
	require.False(t, elsewhere.Duplicate, "a key belongs to its sandbox")
}

func TestTheSameKeyManyTimesAtOnceIsOneEvent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, other, sandbox := b.intake(ingest.IntakeConfig{}, nil), b.intake(ingest.IntakeConfig{}, nil), b.sandbox()
	keyed := newEvent("agent.completed")
	keyed.ClientEventID = "k"
	ids := parallel(40, func(n int) string {
		receipt, err := pick(n, one, other).Single(within(t), sandbox, keyed, false)
		require.NoError(t, err)
		return receipt.EventID
	})
	for _, id := range ids {
		require.Equal(t, sandbox+":1", id)
	}
	b.contiguous(sandbox, 1)
}

func TestBatchesAreAcknowledgedAndRepeatsSkipped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	intake, sandbox := b.intake(ingest.IntakeConfig{}, nil), b.sandbox()
	receipt, err := intake.Batch(within(t), sandbox, "spool", 1, events(5))
	require.NoError(t, err)
	require.Equal(t, ingest.BatchReceipt{Acknowledged: 5}, receipt)
	receipt, err = intake.Batch(within(t), sandbox, "spool", 4, events(4))
	require.NoError(t, err)
	require.Equal(t, ingest.BatchReceipt{Acknowledged: 7, Duplicates: 2}, receipt)
	receipt, err = intake.Batch(within(t), sandbox, "spool", 1, events(3))
	require.NoError(t, err)
	require.Equal(t, ingest.BatchReceipt{Acknowledged: 7, Duplicates: 3}, receipt)
	receipt, err = intake.Batch(within(t), sandbox, "spool", 1, nil)
	require.NoError(t, err)
	require.Equal(t, ingest.BatchReceipt{Acknowledged: 7}, receipt)
	b.contiguous(sandbox, 7)
	require.Equal(t, int64(5), one[int64](b, `SELECT duplicates FROM sandboxes WHERE id = $1`, sandbox))
}

func TestAGapIsAConflictWithTheMark(t *testing.T) {
	t.Parallel()
	b := setup(t)
	intake, sandbox := b.intake(ingest.IntakeConfig{}, nil), b.sandbox()
	_, err := intake.Batch(within(t), sandbox, "spool", 1, events(3))
	require.NoError(t, err)
	for _, spool := range []struct {
		id   string
		mark int64
	}{{"spool", 3}, {"never seen", 0}} {
		_, err = intake.Batch(within(t), sandbox, spool.id, 5, events(2))
		require.Equal(t, task.CodeConflict, task.CodeOf(err))
		mark, ok := ingest.AcknowledgedOf(err)
		require.True(t, ok)
		require.Equal(t, spool.mark, mark)
	}
	b.contiguous(sandbox, 3)
}

func TestEachSpoolHasItsOwnNumbers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	intake, sandbox := b.intake(ingest.IntakeConfig{}, nil), b.sandbox()
	for _, step := range []struct {
		spool string
		first int64
		count int
		want  ingest.BatchReceipt
	}{
		{"one", 1, 2, ingest.BatchReceipt{Acknowledged: 2}},
		{"two", 1, 3, ingest.BatchReceipt{Acknowledged: 3}},
		{"one", 3, 1, ingest.BatchReceipt{Acknowledged: 3}},
		{"two", 2, 4, ingest.BatchReceipt{Acknowledged: 5, Duplicates: 2}},
		{"three", 1, 1, ingest.BatchReceipt{Acknowledged: 1}},
		{"two", 1, 5, ingest.BatchReceipt{Acknowledged: 5, Duplicates: 5}},
	} {
		receipt, err := intake.Batch(within(t), sandbox, step.spool, step.first, events(step.count))
		require.NoError(t, err)
		require.Equal(t, step.want, receipt)
	}
	b.contiguous(sandbox, 9)
}

// Two processes, each with two committers, and senders that repeat themselves: every
// number once, sequences without gap, no deadlock.
func TestConcurrentProcessesLeaveNoGap(t *testing.T) {
	t.Parallel()
	const sandboxes, senders, batches, size = 6, 4, 10, 7
	b := setup(t)
	one, other := b.intake(ingest.IntakeConfig{}, nil), b.intake(ingest.IntakeConfig{}, nil)
	ids := make([]string, sandboxes)
	for n := range ids {
		ids[n] = b.sandbox()
	}
	parallel(sandboxes*senders, func(n int) error {
		sandbox, spool := ids[n%sandboxes], fmt.Sprint("spool ", n/sandboxes)
		for k := range batches {
			for range 2 { // the answer to the first was lost
				receipt, err := pick(n+k, one, other).Batch(within(t), sandbox, spool, int64(k*size+1), events(size))
				require.NoError(t, err)
				require.Equal(t, int64((k+1)*size), receipt.Acknowledged)
			}
			_, err := pick(n, one, other).Single(within(t), sandbox, newEvent("agent.heartbeat"), false)
			require.NoError(t, err)
		}
		return nil
	})
	for _, id := range ids {
		b.contiguous(id, senders*batches*(size+1))
	}
}

func TestPoisonHurtsNobodyElse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	// A queue that fills before anybody works makes one transaction of all requests.
	intake, sandbox := ingest.NewIntake(ingest.IntakeConfig{Meter: unmetered{}}, b.store, live.New(), quiet()), b.sandbox()
	poison := map[int]string{3: `{"n": 1e999999}`, 11: `{"n": ` + strings.Repeat("9", 140_000) + `}`}
	results := make(chan error, 16)
	var group sync.WaitGroup
	for n := range 16 {
		group.Go(func() {
			e := newEvent("agent.tool_use")
			if bad, ok := poison[n]; ok {
				e.Data = json.RawMessage(bad)
			}
			_, err := intake.Single(within(t), sandbox, e, false)
			if _, bad := poison[n]; bad && task.CodeOf(err) == task.CodeInvalid {
				err = nil
			} else if bad {
				err = fmt.Errorf("event %d is poison, but the answer was: %v", n, err) //nolint:errorlint // it may be nil
			}
			results <- err
		})
	}
	run(t, intake.Run)
	group.Wait()
	for range 16 {
		require.NoError(t, <-results)
	}
	b.contiguous(sandbox, 14)
}

func TestWhatIsRefusedAtTheDoor(t *testing.T) {
	t.Parallel()
	intake := ingest.NewIntake(ingest.IntakeConfig{MaxBatch: 2}, nil, nil, nil)
	good := newEvent("agent.tool_use")
	long := make([]byte, 101)
	for n := range long {
		long[n] = 'x'
	}
	for name, c := range map[string]struct {
		sandbox string
		change  func(e *ingest.Event)
		field   string
	}{
		"no sandbox":        {"", func(*ingest.Event) {}, "sandbox_id"},
		"long sandbox":      {string(long), func(*ingest.Event) {}, "sandbox_id"},
		"no type":           {"s", func(e *ingest.Event) { e.Type = "" }, "event_type"},
		"long type":         {"s", func(e *ingest.Event) { e.Type = string(long) }, "event_type"},
		"control character": {"s", func(e *ingest.Event) { e.Type = "a\x00b" }, "event_type"},
		"source":            {"s", func(e *ingest.Event) { e.Source = "moon" }, "source"},
		"array":             {"s", func(e *ingest.Event) { e.Data = json.RawMessage(`[]`) }, "event_data"},
		"bad UTF-8":         {"s", func(e *ingest.Event) { e.Data = json.RawMessage("{\"a\":\"\xff\"}") }, "event_data"},
		"key":               {"s", func(e *ingest.Event) { e.ClientEventID = "a\nb" }, "client_event_id"},
		"key of ours":       {"s", func(e *ingest.Event) { e.ClientEventID = "omoi:host-lost" }, "client_event_id"},
		"token as a key":    {"s", func(e *ingest.Event) { e.ClientEventID = "v1.key." + strings.Repeat("x", 43) }, "client_event_id"},
		"token as a type":   {"s", func(e *ingest.Event) { e.Type = "v1.key." + strings.Repeat("x", 43) }, "event_type"},
	} {
		e := good
		c.change(&e)
		_, err := intake.Single(t.Context(), c.sandbox, e, false)
		requireInvalid(t, err, c.field, name)
	}
	_, err := intake.Batch(t.Context(), "s", "", 1, nil)
	requireInvalid(t, err, "spool_id", "no spool")
	_, err = intake.Batch(t.Context(), "s", "spool", 0, nil)
	requireInvalid(t, err, "first", "first")
	_, err = intake.Batch(t.Context(), "s", "spool", 1, []ingest.Event{good, good, good})
	requireInvalid(t, err, "events", "too many")
	bad := good
	bad.Data = json.RawMessage(`7`)
	_, err = intake.Batch(t.Context(), "s", "spool", 1, []ingest.Event{good, bad})
	requireInvalid(t, err, "events[1].event_data", "names the event")
}

// What a program prints is no reason to lose the event that tells of it.
func TestWhatNoColumnTakesIsReplaced(t *testing.T) {
	t.Parallel()
	b := setup(t)
	commits := &counting{Store: storeOn(b.t, b.pool)}
	intake, sandbox := ingest.NewIntake(ingest.IntakeConfig{Meter: unmetered{}}, commits, live.New(), quiet()), b.sandbox()
	run(t, intake.Run)
	cases := map[string]string{
		`{"path": "C:\\u0000", "more": "\\\\u0000"}`:        `{"path": "C:\\u0000", "more": "\\\\u0000"}`,
		`{"a": "x\u0000y", "b\u0000": "\\\u0000"}`:          `{"a": "x\ufffdy", "b\ufffd": "\\\ufffd"}`,
		`{"a": "\ud83d", "\uDE00": ["\uD83D\ud83D\uDe00"]}`: `{"a": "\ufffd", "\ufffd": ["\ufffd\ud83d\ude00"]}`,
		`{"a": "\ud83d\u0041\ud83dx\ud83d\n\\ud83d"}`:       `{"a": "\ufffdA\ufffdx\ufffd\n\\ud83d"}`,
		`{"a": "\u00e9\"\/\ud83d\u0000\u00000"}`:            `{"a": "\u00e9\"/\ufffd\ufffd\ufffd0"}`,
	}
	for said, kept := range cases {
		raw := json.RawMessage(said)
		_, err := intake.Single(within(t), sandbox, ingest.Event{Type: "agent.tool_use", Data: raw}, false)
		require.NoError(t, err, said)
		require.Equal(t, said, string(raw), "the body is the caller's")
		stored := b.stored(sandbox)
		require.JSONEq(t, kept, string(stored[len(stored)-1].Data), said)
	}
	require.EqualValues(t, len(cases), commits.n.Load(), "nobody tries twice")
}

// counting counts the transactions.
type counting struct {
	*postgres.Store

	n atomic.Int64
}

func (c *counting) CommitEvents(ctx context.Context, commit ingest.Commit) ([]ingest.Outcome, error) {
	c.n.Add(1)
	return c.Store.CommitEvents(ctx, commit)
}

// A program that posts by itself prints the URL that holds its token.
func TestTokensInEventsAreNotStored(t *testing.T) {
	t.Parallel()
	b := setup(t)
	intake, sandbox := b.intake(ingest.IntakeConfig{}, nil), b.sandbox()
	const token = "v1.pfqqh2km.sMf_trL-0123456789abcdefghijklmnopqrstuvwxy"
	event := ingest.Event{Type: "agent.tool_result", Data: json.RawMessage(`{"result": "{\"CALLBACK_URL\":\"http://h/t/` + token + `\"} v1.2.3"}`)}
	_, err := intake.Single(within(t), sandbox, event, false)
	require.NoError(t, err)
	_, err = intake.Batch(within(t), sandbox, "spool", 1, []ingest.Event{event})
	require.NoError(t, err)
	for _, stored := range b.stored(sandbox) {
		require.JSONEq(t, `{"result": "{\"CALLBACK_URL\":\"http://h/t/[redacted]\"} v1.2.3"}`, string(stored.Data))
	}
}

func TestUnknownSandboxes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	intake, open := b.intake(ingest.IntakeConfig{}, nil), b.intake(ingest.IntakeConfig{AllowBare: true}, nil)
	_, err := intake.Single(within(t), "stranger", newEvent("agent.started"), false)
	require.Equal(t, task.CodeNotFound, task.CodeOf(err))
	_, err = intake.Batch(within(t), "stranger", "spool", 1, events(1))
	require.Equal(t, task.CodeNotFound, task.CodeOf(err))
	parallel(20, func(n int) error {
		receipt, err := pick(n, intake, open).Single(within(t), "stranger", newEvent("agent.started"), true)
		require.NoError(t, err)
		require.Empty(t, receipt.TaskID)
		return nil
	})
	_, err = open.Batch(within(t), "Another-1", "spool", 1, events(2))
	require.NoError(t, err)
	b.contiguous("stranger", 20)
	b.contiguous("Another-1", 2)
	require.Equal(t, "bare", one[string](b, `SELECT provider FROM sandboxes WHERE id = 'stranger'`))
	require.True(t, one[bool](b, `SELECT bool_and(events_due_at IS NULL) FROM sandboxes`), "nobody waits for them")
}

func TestEventsAfterTheEndAreLate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	intake, sandbox := b.intake(ingest.IntakeConfig{}, nil), b.sandbox()
	_, err := intake.Single(within(t), sandbox, newEvent("agent.heartbeat"), false)
	require.NoError(t, err)
	b.exec(`UPDATE sandboxes SET ended_at = now(), events_due_at = NULL WHERE id = $1`, sandbox)
	receipt, err := intake.Single(within(t), sandbox, newEvent("agent.completed"), false)
	require.NoError(t, err)
	require.True(t, receipt.Late)
	stored := b.stored(sandbox)
	require.False(t, stored[0].Late)
	require.True(t, stored[1].Late)
	require.True(t, one[bool](b, `SELECT events_due_at IS NULL FROM sandboxes WHERE id = $1`, sandbox))
}

func TestAGoneSandboxTakesNothingAfterAnHour(t *testing.T) {
	t.Parallel()
	b := setup(t)
	intake, sandbox := b.intake(ingest.IntakeConfig{}, nil), b.sandbox()
	b.exec(`UPDATE sandboxes SET ended_at = now(), state = 'gone', verified_at = now() - interval '59 minutes' WHERE id = $1`, sandbox)
	_, err := intake.Single(within(t), sandbox, newEvent("agent.heartbeat"), false)
	require.NoError(t, err)
	b.exec(`UPDATE sandboxes SET verified_at = now() - interval '61 minutes' WHERE id = $1`, sandbox)
	_, err = intake.Single(within(t), sandbox, newEvent("agent.heartbeat"), false)
	require.Equal(t, task.CodeGone, task.CodeOf(err))
	_, err = intake.Batch(within(t), sandbox, "spool", 1, events(1))
	require.Equal(t, task.CodeGone, task.CodeOf(err))
	b.contiguous(sandbox, 1)
}

// What decides when the relay has to tell the workflow, and how old the signs of life are.
func TestIntakeMovesTheClocksOfItsSandbox(t *testing.T) {
	t.Parallel()
	b := setup(t)
	intake, sandbox := b.intake(ingest.IntakeConfig{}, nil), b.sandbox()
	post := func(eventType string) {
		_, err := intake.Single(within(t), sandbox, newEvent(eventType), false)
		require.NoError(t, err)
	}
	post("agent.heartbeat")
	require.True(t, one[bool](b, `SELECT events_due_at = last_event_at + interval '60 s'
		AND last_work_at IS NULL FROM sandboxes WHERE id = $1`, sandbox))
	due := one[string](b, `SELECT events_due_at::text FROM sandboxes WHERE id = $1`, sandbox)
	post("agent.tool_use")
	require.Equal(t, due, one[string](b, `SELECT events_due_at::text FROM sandboxes WHERE id = $1`, sandbox), "the earlier one stands")
	require.True(t, one[bool](b, `SELECT last_work_at = last_event_at FROM sandboxes WHERE id = $1`, sandbox))
	post("agent.started")
	require.True(t, one[bool](b, `SELECT events_due_at = last_event_at AND last_work_at < last_event_at FROM sandboxes WHERE id = $1`, sandbox))
}

// An event may name any task in its data; it is filed under its own sandbox.
func TestAnEventThatNamesAnotherTaskBelongsToItsSandbox(t *testing.T) {
	t.Parallel()
	b := setup(t)
	victim := b.task()
	b.attempt(victim, 1)
	intake, sandbox := b.intake(ingest.IntakeConfig{}, nil), b.sandbox()
	_, err := intake.Single(within(t), sandbox, ingest.Event{
		Type: "agent.error", Data: json.RawMessage(`{"task_id": "` + victim + `", "error": "no"}`),
	}, false)
	require.NoError(t, err)
	b.contiguous(sandbox, 1)
	require.Zero(t, one[int64](b, `SELECT sum(last_sequence) FROM sandboxes WHERE task_id = $1`, victim))
	require.Equal(t, 1, one[int](b, `SELECT count(*) FROM sandboxes WHERE events_due_at IS NOT NULL`))
}

func TestTotalsOfATypeNeedNoFullCount(t *testing.T) {
	t.Parallel()
	b := setup(t)
	intake, sandbox := b.intake(ingest.IntakeConfig{}, nil), b.sandbox()
	_, err := intake.Batch(within(t), sandbox, "spool", 1, append(events(4), newEvent("agent.heartbeat"), newEvent("agent.tool_use")))
	require.NoError(t, err)
	page := func(eventType string) ingest.EventPage {
		page, err := b.store.Events(t.Context(), ingest.EventQuery{SandboxID: sandbox, Type: eventType, Limit: 2, Offset: 1})
		require.NoError(t, err)
		return page
	}
	require.Equal(t, int64(5), page("agent.tool_use").Total)
	b.exec(`UPDATE sandboxes SET relayed = 4, counters = '{"agent.tool_use": 4}' WHERE id = $1`, sandbox)
	got := page("agent.tool_use")
	require.Equal(t, int64(5), got.Total)
	require.Len(t, got.Events, 2)
	require.Equal(t, []int64{4, 3}, []int64{got.Events[0].Sequence, got.Events[1].Sequence})
	require.Equal(t, int64(6), page("").Total)
	all := page("").Events
	require.Equal(t, []int64{5, 4}, []int64{all[0].Sequence, all[1].Sequence})
	beyond, err := b.store.Events(t.Context(), ingest.EventQuery{SandboxID: sandbox, Limit: 2, Offset: 6})
	require.NoError(t, err)
	require.Empty(t, beyond.Events)
	require.False(t, beyond.More)
	require.Zero(t, page("agent.error").Total)
	none, err := b.store.Events(t.Context(), ingest.EventQuery{SandboxID: "stranger"})
	require.NoError(t, err)
	require.Zero(t, none.Total)
	require.Empty(t, none.Events)
}

func TestATasksEventsAreReadOverItsAttempts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	intake, taskID := b.intake(ingest.IntakeConfig{}, nil), b.task()
	for number := 1; number <= 3; number++ {
		_, err := intake.Batch(within(t), b.attempt(taskID, number), "spool", 1, events(number))
		require.NoError(t, err)
	}
	var seen []string
	var cursor ingest.Cursor
	for {
		page, err := b.store.TaskEventsAfter(t.Context(), taskID, cursor, 2)
		require.NoError(t, err)
		if len(page.Events) == 0 {
			require.False(t, page.More)
			break
		}
		for _, e := range page.Events {
			seen = append(seen, fmt.Sprintf("%d:%d", e.Attempt, e.Sequence))
		}
		cursor, err = ingest.ParseCursor("cursor", page.Next().String())
		require.NoError(t, err)
	}
	require.Equal(t, []string{"1:1", "2:1", "2:2", "3:1", "3:2", "3:3"}, seen)
	page, err := b.store.TaskEventsAfter(t.Context(), taskID, foreignPlaces(t), 2)
	require.NoError(t, err)
	require.Empty(t, page.Events, "behind attempts that the task does not have")
	for _, bad := range []string{"1", "a:1", "1:b", "-1:2", "1:2:3", "1:2,", "1:2,1:3"} {
		_, err := ingest.ParseCursor("cursor", bad)
		requireInvalid(t, err, "cursor", bad)
	}
}

// foreignPlaces is a cursor with as many attempts as a reader may name, none of which a task has.
func foreignPlaces(t *testing.T) ingest.Cursor {
	t.Helper()
	var places []string
	for n := range 100 {
		places = append(places, fmt.Sprintf("%d:0", 200-n))
	}
	_, err := ingest.ParseCursor("cursor", strings.Join(append(places, "1000:0"), ","))
	requireInvalid(t, err, "cursor", "one more")
	cursor, err := ingest.ParseCursor("cursor", strings.Join(places, ","))
	require.NoError(t, err)
	return cursor
}

func TestReadersAreWokenAfterTheCommit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	bus := live.New()
	taskID := b.task()
	intake, sandbox := b.intake(ingest.IntakeConfig{}, bus), b.attempt(taskID, 1)
	ofSandbox, leave := bus.Subscribe(live.Sandbox(sandbox))
	defer leave()
	ofTask, leaveTask := bus.Subscribe(live.Task(taskID))
	defer leaveTask()
	ofRelay, leaveRelay := bus.Subscribe(live.Relay)
	defer leaveRelay()
	_, err := intake.Single(within(t), sandbox, newEvent("agent.heartbeat"), false)
	require.NoError(t, err)
	<-ofSandbox
	<-ofTask
	require.Empty(t, ofRelay, "a heartbeat is not urgent")
	_, err = intake.Single(within(t), sandbox, newEvent("agent.started"), false)
	require.NoError(t, err)
	<-ofRelay
}

func TestAFullQueueTurnsAwayAndAStopDrains(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sandbox := b.sandbox()
	intake := ingest.NewIntake(ingest.IntakeConfig{Queue: 3, Meter: unmetered{}}, b.store, live.New(), quiet())
	results := make(chan error, 10)
	for range 10 {
		go func() {
			_, err := intake.Single(within(t), sandbox, newEvent("agent.tool_use"), false)
			results <- err
		}()
	}
	for range 7 {
		require.Equal(t, task.CodeUnavailable, task.CodeOf(<-results))
	}
	stop := run(t, intake.Run)
	stop() // what waits is stored all the same
	for range 3 {
		require.NoError(t, <-results)
	}
	_, err := intake.Single(within(t), sandbox, newEvent("agent.tool_use"), false)
	require.Equal(t, task.CodeUnavailable, task.CodeOf(err))
	b.contiguous(sandbox, 3)
}

func requireInvalid(t *testing.T, err error, field, name string) {
	t.Helper()
	var coded *task.Error
	require.ErrorAs(t, err, &coded, name)
	require.Equal(t, task.CodeInvalid, coded.Code, name)
	require.Equal(t, field, coded.Field, name)
}

func parallel[T any](n int, do func(n int) T) []T {
	results := make([]T, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { results[i] = do(i) })
	}
	group.Wait()
	return results
}

func pick(n int, of ...*ingest.Intake) *ingest.Intake { return of[n%len(of)] }
