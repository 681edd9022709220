package ingest_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestStartCommandsAdmissionAndDigestGoInThisOrder(t *testing.T) {
	t.Parallel()
	b, runs := setup(t), newFakeRuns()
	taskID := b.task()
	sandbox := b.attempt(taskID, 1)
	b.post(sandbox, "agent.heartbeat", "agent.started", "agent.tool_use")
	b.grant(taskID)
	start, cancel, fail := b.ask(taskID, "start"), b.ask(taskID, "cancel"), b.ask(taskID, "fail")
	b.relay(quick(), runs)
	b.settled(taskID)
	require.Equal(t, []string{"start " + start, "cancel " + cancel, "fail " + fail, "admitted", "digest 1-3"}, runs.of(taskID))
	for _, id := range []string{start, cancel, fail} {
		state, sent := b.command(id)
		require.Equal(t, "accepted", state, "the workflow settles it")
		require.True(t, sent)
	}
	require.Equal(t, "TASK-1 Title", runs.input[taskID].Title)
	require.Equal(t, int64(3), one[int64](b, `SELECT relayed FROM sandboxes WHERE id = $1`, sandbox))
	require.JSONEq(t, `{"agent.heartbeat": 1, "agent.started": 1, "agent.tool_use": 1}`,
		one[string](b, `SELECT counters::text FROM sandboxes WHERE id = $1`, sandbox))
	require.False(t, one[bool](b, `SELECT admit FROM task_outbox WHERE task_id = $1`, taskID))
}

func TestASlotOfTheAcceptanceItselfIsNotTold(t *testing.T) {
	t.Parallel()
	b, runs := setup(t), newFakeRuns()
	taskID := b.task()
	b.grant(taskID)
	start := b.ask(taskID, "start")
	b.exec(`UPDATE slots SET granted_at = (SELECT created_at FROM commands WHERE id = $2) WHERE task_id = $1`, taskID, start)
	b.relay(quick(), runs)
	b.settled(taskID)
	require.Equal(t, []string{"start " + start}, runs.of(taskID), "it saw its slot when it began")
	require.False(t, one[bool](b, `SELECT admit FROM task_outbox WHERE task_id = $1`, taskID))

	// a later one of the same task is
	b.exec(`UPDATE slots SET granted_at = now() WHERE task_id = $1`, taskID)
	b.exec(`UPDATE task_outbox SET admit = true, due_at = now() WHERE task_id = $1`, taskID)
	b.settled(taskID)
	require.Equal(t, []string{"start " + start, "admitted"}, runs.of(taskID))
}

// A commit wakes the relay of its own process by the bus, and those of others by the database.
func TestACommitWakesTheRelay(t *testing.T) {
	t.Parallel()
	b, runs, bus := setup(t), newFakeRuns(), live.New()
	runs.calls = make(chan string, 10)
	cfg := quick()
	cfg.Poll = time.Hour
	taskID := b.task()
	run(t, ingest.NewRelay(cfg, b.store, runs, bus, quiet()).Run)
	b.ask(taskID, "start")
	require.Contains(t, <-runs.calls, "start")
	sandbox := b.attempt(taskID, 1)
	_, err := b.intake(ingest.IntakeConfig{}, bus).Single(within(t), sandbox, newEvent("agent.started"), false)
	require.NoError(t, err)
	require.Equal(t, "digest 1-1", <-runs.calls)
}

func TestQuietEventsWaitAndMilestonesTakeThemAlong(t *testing.T) {
	t.Parallel()
	b, runs := setup(t), newFakeRuns()
	taskID := b.task()
	sandbox := b.attempt(taskID, 1)
	runs.set(taskID, true)
	b.relay(quick(), runs)
	b.post(sandbox, "agent.heartbeat", "agent.tool_use")
	b.ask(taskID, "cancel") // a command does not pull quiet events along
	b.settled(taskID)
	require.Zero(t, runs.known(sandbox))
	b.post(sandbox, "agent.waiting")
	b.settled(taskID)
	require.Equal(t, int64(3), runs.known(sandbox))
	b.post(sandbox, "agent.tool_use")
	b.exec(`UPDATE sandboxes SET events_due_at = now() WHERE id = $1`, sandbox) // 60 s later
	b.settled(taskID)
	require.Equal(t, int64(4), runs.known(sandbox))
	require.Equal(t, []string{"digest 1-3", "digest 4-4"}, runs.of(taskID)[1:])
}

func TestOnlyTheCurrentSandboxIsRelayed(t *testing.T) {
	t.Parallel()
	b, runs := setup(t), newFakeRuns()
	taskID := b.task()
	runs.set(taskID, true)
	old, current := b.attempt(taskID, 1), b.attempt(taskID, 2)
	b.post(old, "agent.completed")
	b.post(current, "agent.started")
	cfg := quick()
	cfg.SweepPeriod = time.Millisecond
	b.relay(cfg, runs)
	b.settled(taskID)
	require.Equal(t, int64(1), runs.known(current))
	require.Zero(t, runs.known(old))
	require.Eventually(t, func() bool {
		return one[bool](b, `SELECT events_due_at IS NULL FROM sandboxes WHERE id = $1`, old)
	}, 30*time.Second, time.Millisecond, "nobody looks at it for ever")
}

func TestWhatTemporalAnswersDecidesWhatBecomesOfACommand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answer task.Code
		state  string
		next   string // of the command behind it, which nothing holds up
	}{
		{task.CodeGone, "too_late", "too_late"},
		{task.CodeNotFound, "too_late", "too_late"},
		{task.CodeInvalid, "refused", "accepted"},
	} {
		t.Run(string(c.answer), func(t *testing.T) {
			t.Parallel()
			b, runs := setup(t), newFakeRuns()
			runs.before = func(call string) error {
				if strings.HasPrefix(call, "cancel") {
					return task.Errorf(c.answer, "told so")
				}
				return nil
			}
			taskID := b.task()
			runs.set(taskID, true)
			refused, next := b.ask(taskID, "cancel"), b.ask(taskID, "fail")
			b.relay(quick(), runs)
			b.settled(taskID)
			state, sent := b.command(refused)
			require.Equal(t, c.state, state)
			require.False(t, sent)
			state, sent = b.command(next)
			require.Equal(t, c.next, state)
			require.Equal(t, c.next == "accepted", sent)
		})
	}
}

func TestARefusedCommandRaisesAnAlarm(t *testing.T) {
	t.Parallel()
	b, runs := setup(t), newFakeRuns()
	runs.before = func(string) error { return task.Errorf(task.CodeInvalid, "No way.") }
	taskID := b.task()
	id := b.ask(taskID, "start")
	var out lockedBuffer
	run(t, ingest.NewRelay(quick(), b.store, runs, live.New(), slog.New(slog.NewTextHandler(&out, nil))).Run)
	b.settled(taskID)
	require.Contains(t, out.String(), "alert=true")
	require.Contains(t, out.String(), id)
	require.Equal(t, "No way.", one[string](b, `SELECT error FROM task_outbox WHERE task_id = $1`, taskID))
}

// What was accepted while Temporal was away is carried out when it is back.
func TestUnavailableIsTriedAgainInOrder(t *testing.T) {
	t.Parallel()
	b, runs := setup(t), newFakeRuns()
	var mu sync.Mutex
	away := 25
	runs.before = func(string) error {
		mu.Lock()
		defer mu.Unlock()
		if away--; away >= 0 {
			return errors.New("connection refused")
		}
		return nil
	}
	taskID := b.task()
	sandbox := b.attempt(taskID, 1)
	b.post(sandbox, "agent.started")
	b.grant(taskID)
	start, cancel := b.ask(taskID, "start"), b.ask(taskID, "cancel")
	b.relay(quick(), runs)
	b.settled(taskID)
	require.Equal(t, []string{"start " + start, "cancel " + cancel, "admitted", "digest 1-1"}, runs.of(taskID))
	require.True(t, one[bool](b, `SELECT failures = 0 AND error = '' FROM task_outbox WHERE task_id = $1`, taskID))
}

// However old what was accepted is: that Temporal is away is no answer.
func TestNothingIsGivenUpWhileTemporalIsAway(t *testing.T) {
	t.Parallel()
	b, runs := setup(t), newFakeRuns()
	var away atomic.Bool
	away.Store(true)
	runs.before = func(string) error {
		if away.Load() {
			return errors.New("never")
		}
		return nil
	}
	taskID := b.task()
	start, cancel := b.ask(taskID, "start"), b.ask(taskID, "cancel")
	b.exec(`UPDATE commands SET created_at = now() - interval '1 year'`)
	b.relay(quick(), runs)
	require.Eventually(t, func() bool {
		return one[bool](b, `SELECT failures >= 5 FROM task_outbox WHERE task_id = $1`, taskID)
	}, 30*time.Second, 2*time.Millisecond)
	away.Store(false)
	b.settled(taskID)
	require.Equal(t, []string{"start " + start, "cancel " + cancel}, runs.of(taskID))
}

// The pause that grew during an outage ends with it.
func TestRelay_SendsAtOnceAfterAnOutage(t *testing.T) {
	t.Parallel()
	b, runs := setup(t), newFakeRuns()
	var away atomic.Bool
	away.Store(true)
	runs.before = func(string) error {
		if away.Load() {
			return errors.New("connection refused")
		}
		return nil
	}
	tasks := []string{b.task(), b.task()}
	cfg := quick()
	cfg.FirstPause, cfg.MaxPause = time.Hour, time.Hour
	for _, id := range tasks {
		b.ask(id, "start")
	}
	b.relay(cfg, runs)
	require.Eventually(t, func() bool {
		return one[int](b, `SELECT count(*) FROM task_outbox WHERE failures = 1 AND lease_until > now() AND leased_by = ''`) == len(tasks)
	}, 30*time.Second, 2*time.Millisecond)
	away.Store(false)
	for _, id := range tasks {
		b.settled(id)
	}
}

func TestATaskThatFailsBlocksNoOther(t *testing.T) {
	t.Parallel()
	b, runs := setup(t), newFakeRuns()
	bad := b.task()
	badStart := b.ask(bad, "start")
	runs.before = func(call string) error {
		if call == "start "+badStart {
			return errors.New("again and again")
		}
		return nil
	}
	cfg := quick()
	cfg.Workers = 1
	b.relay(cfg, runs)
	for range 10 {
		good := b.task()
		b.ask(good, "start")
		b.settled(good)
	}
	require.Positive(t, one[int](b, `SELECT failures FROM task_outbox WHERE task_id = $1`, bad))
}

func TestARetryWaitsForTheRunBefore(t *testing.T) {
	t.Parallel()
	b, runs := setup(t), newFakeRuns()
	taskID := b.task()
	b.exec(`UPDATE tasks SET status = 'failed' WHERE id = $1`, taskID)
	runs.set(taskID, true) // it cleans up
	retry, cancel := b.ask(taskID, "retry"), b.ask(taskID, "cancel")
	b.relay(quick(), runs)
	require.Eventually(t, func() bool {
		return one[bool](b, `SELECT failures >= 3 AND error = '' FROM task_outbox WHERE task_id = $1`, taskID)
	}, 30*time.Second, 2*time.Millisecond)
	require.Empty(t, runs.of(taskID), "and nothing overtakes it")
	runs.set(taskID, false)
	b.settled(taskID)
	require.Equal(t, []string{"start " + retry, "cancel " + cancel}, runs.of(taskID))
	state, sent := b.command(retry)
	require.Equal(t, "accepted", state, "it is settled by the run that claims it")
	require.True(t, sent)
}

// The start arrived and its answer did not: the run that has claimed it shows that.
func TestARetryThatWasClaimedIsNotSentAgain(t *testing.T) {
	t.Parallel()
	b, runs := setup(t), newFakeRuns()
	taskID := b.task()
	b.exec(`UPDATE tasks SET status = 'failed' WHERE id = $1`, taskID)
	retry := b.ask(taskID, "retry")
	runs.after = func(string) error { return context.DeadlineExceeded }
	b.relay(quick(), runs)
	require.Eventually(t, func() bool { return len(runs.of(taskID)) > 0 }, 30*time.Second, time.Millisecond)
	b.exec(`UPDATE commands SET claimed_by = 'run' WHERE id = $1`, retry)
	b.settled(taskID)
	require.Equal(t, []string{"start " + retry}, runs.of(taskID))
	_, sent := b.command(retry)
	require.True(t, sent)
}

func TestARetryOfAParkedTaskIsASignal(t *testing.T) {
	t.Parallel()
	b, runs := setup(t), newFakeRuns()
	taskID := b.task()
	runs.set(taskID, true)
	retry := b.ask(taskID, "retry")
	b.relay(quick(), runs)
	b.settled(taskID)
	require.Equal(t, []string{"retry " + retry}, runs.of(taskID))
}

// A slot that is granted while the one before is being signalled is signalled too.
func TestAnAdmissionInBetweenIsNotLost(t *testing.T) {
	t.Parallel()
	b, runs := setup(t), newFakeRuns()
	taskID := b.task()
	runs.set(taskID, true)
	b.grant(taskID)
	var once sync.Once
	runs.after = func(string) error {
		once.Do(func() {
			b.exec(`DELETE FROM slots WHERE task_id = $1`, taskID)
			b.grant(taskID)
		})
		return nil
	}
	b.relay(quick(), runs)
	b.settled(taskID)
	require.Equal(t, []string{"admitted", "admitted"}, runs.of(taskID))
}

func TestEventsAndCommandsThatComeDuringASendAreSent(t *testing.T) {
	t.Parallel()
	b, runs := setup(t), newFakeRuns()
	taskID := b.task()
	runs.set(taskID, true)
	sandbox := b.attempt(taskID, 1)
	var once sync.Once
	runs.after = func(call string) error {
		if !strings.HasPrefix(call, "digest") {
			return nil
		}
		once.Do(func() {
			b.post(sandbox, "agent.completed")
			b.ask(taskID, "cancel")
		})
		return nil
	}
	cfg := quick()
	cfg.Poll = time.Hour
	b.relay(cfg, runs)
	b.post(sandbox, "agent.started")
	b.ask(taskID, "fail")
	b.settled(taskID)
	require.Equal(t, int64(2), runs.known(sandbox))
	require.Len(t, runs.of(taskID), 4)
}

// A relay that is killed between the send and its note: its lease runs out, another one
// sends again, and the workflow drops what it has seen.
func TestAKilledRelayLosesItsLeaseAndNothingElse(t *testing.T) {
	t.Parallel()
	b, runs := setup(t), newFakeRuns()
	taskID := b.task()
	runs.set(taskID, true)
	sandbox := b.attempt(taskID, 1)
	b.post(sandbox, "agent.started", "agent.waiting")
	pace := ingest.Pace{Lease: 50 * time.Millisecond, Burst: 3, Rate: 1, Many: 300, Window: time.Minute, Slow: time.Second}
	units, err := b.store.LeaseRelays(t.Context(), "killed", 10, pace)
	require.NoError(t, err)
	require.Len(t, units, 1)
	due, ok, err := b.store.TakeDigest(t.Context(), units[0])
	require.NoError(t, err)
	require.True(t, ok)
	require.NoError(t, runs.SignalDigest(t.Context(), taskID, due.Digest))

	b.relay(quick(), runs)
	b.settled(taskID)
	require.Eventually(t, func() bool {
		return one[int64](b, `SELECT relayed FROM sandboxes WHERE id = $1`, sandbox) == 2
	}, 30*time.Second, time.Millisecond)
	require.Equal(t, []string{"digest 1-2", "digest 1-2"}, runs.of(taskID))
	require.Len(t, runs.stars[sandbox], 2, "applied once")

	again, err := b.store.SettleRelay(t.Context(), units[0], ingest.Settled{Error: "late"}, pace)
	require.NoError(t, err)
	require.False(t, again)
	require.NotEqual(t, "late", one[string](b, `SELECT error FROM task_outbox WHERE task_id = $1`, taskID))
}

func TestTheBucketHoldsMilestonesBack(t *testing.T) {
	t.Parallel()
	b, runs := setup(t), newFakeRuns()
	taskID := b.task()
	runs.set(taskID, true)
	sandbox := b.attempt(taskID, 1)
	cfg := quick()
	cfg.Pace = ingest.Pace{Burst: 3, Rate: 1e-6}
	b.relay(cfg, runs)
	for n := range 3 {
		b.post(sandbox, "agent.waiting")
		require.Eventually(t, func() bool { return runs.known(sandbox) == int64(n+1) }, 30*time.Second, time.Millisecond)
	}
	b.post(sandbox, "agent.waiting")
	b.post(sandbox, "agent.waiting")
	b.ask(taskID, "cancel") // goes at once, without events
	require.Eventually(t, func() bool { return len(runs.of(taskID)) == 4 }, 30*time.Second, time.Millisecond)
	require.Equal(t, int64(3), runs.known(sandbox))
	b.exec(`UPDATE task_outbox SET bucket = 1 WHERE task_id = $1`, taskID)
	b.settled(taskID)
	require.Equal(t, int64(5), runs.known(sandbox), "what waited comes as one")
	require.Len(t, runs.of(taskID), 5)
}

func TestTooManyDigestsSlowDown(t *testing.T) {
	t.Parallel()
	b, runs := setup(t), newFakeRuns()
	taskID := b.task()
	runs.set(taskID, true)
	sandbox := b.attempt(taskID, 1)
	cfg := quick()
	cfg.Pace = ingest.Pace{Burst: 1, Rate: 1000, Many: 4, Window: time.Hour, Slow: time.Hour}
	b.relay(cfg, runs)
	for n := range 4 {
		b.post(sandbox, "agent.waiting")
		require.Eventually(t, func() bool { return runs.known(sandbox) == int64(n+1) }, 30*time.Second, time.Millisecond)
	}
	b.exec(`UPDATE task_outbox SET bucket = 0, bucket_at = now() WHERE task_id = $1`, taskID)
	b.post(sandbox, "agent.waiting")
	b.ask(taskID, "cancel")
	require.Eventually(t, func() bool { return len(runs.of(taskID)) == 5 }, 30*time.Second, time.Millisecond)
	require.Equal(t, int64(4), runs.known(sandbox))
	b.exec(`UPDATE task_outbox SET window_at = now() - interval '2 hours' WHERE task_id = $1`, taskID)
	b.settled(taskID)
	require.Equal(t, int64(5), runs.known(sandbox), "a new window")
	require.Equal(t, 1, one[int](b, `SELECT digests FROM task_outbox WHERE task_id = $1`, taskID))
}

func TestTitlesAreScrubbedAndShort(t *testing.T) {
	t.Parallel()
	b, runs := setup(t), newFakeRuns()
	taskID := b.task()
	b.exec(`UPDATE tasks SET title = $1 WHERE id = $2`, "secret\n\t"+strings.Repeat("é", 100), taskID)
	b.ask(taskID, "start")
	cfg := quick()
	cfg.Scrub = func(title string) string { return strings.ReplaceAll(title, "secret", "[removed]") }
	b.relay(cfg, runs)
	b.settled(taskID)
	title := runs.input[taskID].Title
	require.LessOrEqual(t, len(title), 120)
	require.True(t, strings.HasPrefix(title, "TASK-1 [removed] éé"))
	require.True(t, strings.HasSuffix(title, "é"))
}

// Three relays, 50 tasks, concurrent senders, calls that fail before or after they took
// effect, and relays that are stopped and replaced: no milestone is lost or applied twice, digests
// leave no hole, every start arrives.
func TestParallelRelaysLoseNothing(t *testing.T) {
	t.Parallel()
	const tasks, rounds, relays = 50, 6, 3
	b, runs := setup(t), newFakeRuns()
	shaky := func(share float64) func(string) error {
		return func(string) error {
			if rand.Float64() < share {
				return context.DeadlineExceeded
			}
			return nil
		}
	}
	runs.before, runs.after = shaky(0.1), shaky(0.1)
	cfg := quick()
	cfg.Pace.Lease = 300 * time.Millisecond
	ids, boxes := make([]string, tasks), make([]string, tasks)
	for n := range ids {
		ids[n] = b.task()
		boxes[n] = b.attempt(ids[n], 1)
		b.ask(ids[n], "start")
	}
	for range relays {
		b.relay(cfg, runs)
	}
	one := b.intake(ingest.IntakeConfig{}, nil)
	parallel(tasks, func(n int) error {
		for k := range rounds {
			list := []ingest.Event{newEvent("agent.tool_use"), newEvent("agent.waiting"), newEvent("agent.heartbeat")}
			_, err := one.Batch(within(t), boxes[n], "spool", int64(k*len(list)+1), list)
			require.NoError(t, err)
			if n%10 == 0 {
				stop := b.relay(cfg, runs)
				stop()
			}
		}
		return nil
	})
	for n := range ids {
		b.settled(ids[n])
		require.Eventually(t, func() bool { return runs.known(boxes[n]) >= 3*rounds-1 }, 30*time.Second, time.Millisecond)
	}
	runs.mu.Lock()
	defer runs.mu.Unlock()
	require.Empty(t, runs.holes)
	for n := range ids {
		require.True(t, strings.HasPrefix(runs.told[ids[n]][0], "start"))
		var sequences []string
		for _, m := range runs.stars[boxes[n]] {
			sequences = append(sequences, strconv.FormatInt(m.Sequence, 10))
		}
		require.Equal(t, "2 5 8 11 14 17", strings.Join(sequences, " "))
	}
}

func TestIntakeAndRelayHaveAPulse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.intake(ingest.IntakeConfig{}, nil)
	b.relay(quick(), newFakeRuns())
	require.Eventually(t, func() bool {
		return one[int](b, `SELECT count(*) FROM component_heartbeats WHERE part IN ('intake', 'relay')`) == 2
	}, 30*time.Second, time.Millisecond)
}

func TestAnErrorsTextStaysInTheStore(t *testing.T) {
	t.Parallel()
	b, runs := setup(t), newFakeRuns()
	taskID := b.task()
	runs.set(taskID, true)
	sandbox := b.attempt(taskID, 1)
	_, err := b.intake(ingest.IntakeConfig{}, nil).Single(within(t), sandbox, ingest.Event{
		Type: "agent.error", Data: json.RawMessage(`{"error": "the long story"}`),
	}, false)
	require.NoError(t, err)
	b.relay(quick(), runs)
	b.settled(taskID)
	runs.mu.Lock()
	defer runs.mu.Unlock()
	require.Len(t, runs.stars[sandbox], 1)
	require.Equal(t, "the long story", one[string](b, `SELECT content FROM stored_texts WHERE id = $1`, runs.stars[sandbox][0].ErrorID))
}
