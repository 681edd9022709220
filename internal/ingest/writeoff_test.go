package ingest_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

func TestAStartThatIsRefusedWritesItsTaskOff(t *testing.T) {
	t.Parallel()
	b, runs := setup(t), newFakeRuns()
	taskID := b.task()
	start, cancel := b.ask(taskID, "start"), b.ask(taskID, "cancel")
	b.grant(taskID)
	runs.before = func(string) error { return task.Errorf(task.CodeInvalid, "No way.") }
	b.relay(quick(), runs)
	b.settled(taskID)
	require.Equal(t, "failed infrastructure", one[string](b, `SELECT status || ' ' || failure_class FROM tasks WHERE id = $1`, taskID))
	require.Contains(t, one[string](b, `SELECT error_message FROM tasks WHERE id = $1`, taskID), "Temporal refuses it for good")
	require.Zero(t, one[int](b, `SELECT count(*) FROM slots WHERE task_id = $1`, taskID))
	state, _ := b.command(start)
	require.Equal(t, "refused", state)
	state, _ = b.command(cancel)
	require.Equal(t, "too_late", state)
}

// The run that was to hear it was ended from outside: nobody waits for the reaper.
func TestACommandThatMeetsNoRunWritesTheTaskOff(t *testing.T) {
	t.Parallel()
	b, runs := setup(t), newFakeRuns()
	taskID := b.task()
	runs.before = func(call string) error {
		if strings.HasPrefix(call, "cancel") {
			return task.Errorf(task.CodeGone, "ended")
		}
		return nil
	}
	b.grant(taskID)
	b.exec(`UPDATE task_outbox SET admit = false WHERE task_id = $1`, taskID)
	told, cancel := b.ask(taskID, "retry"), b.ask(taskID, "cancel")
	b.exec(`UPDATE commands SET sent_at = now() WHERE id = $1`, told) // to the run that is gone
	b.relay(quick(), runs)
	b.settled(taskID)
	require.Equal(t, "failed terminated", one[string](b, `SELECT status || ' ' || failure_class FROM tasks WHERE id = $1`, taskID))
	require.Zero(t, one[int](b, `SELECT count(*) FROM slots WHERE task_id = $1`, taskID))
	require.Equal(t, "too_late: its workflow was terminated; the task is written off as failed (terminated)",
		one[string](b, `SELECT state || ': ' || reason FROM commands WHERE id = $1`, cancel))
	require.Equal(t, []string{"start " + told}, runs.of(taskID), "a retry that the run did not take up begins another")
}

func TestARetryThatMeetsNoRunBeginsOne(t *testing.T) {
	t.Parallel()
	b, runs := setup(t), newFakeRuns()
	taskID := b.task() // open by the store, and unknown to Temporal
	retry := b.ask(taskID, "retry")
	b.relay(quick(), runs)
	b.settled(taskID)
	require.Equal(t, []string{"start " + retry}, runs.of(taskID))
}

func TestAStartWakesAReaperThatRests(t *testing.T) {
	t.Parallel()
	b, runs := setup(t), newFakeRuns()
	_, err := b.store.Installation(t.Context())
	require.NoError(t, err)
	var failing atomic.Int32
	failing.Store(3)
	runs.before = func(call string) error {
		if call == "wake" && failing.Add(-1) >= 0 {
			return errors.New("away")
		}
		return nil
	}
	runs.calls = make(chan string, 10)
	b.relay(quick(), runs)
	rests := func() bool { return one[bool](b, `SELECT reaper_rests FROM installation`) }

	first := b.task()
	start := b.ask(first, "start")
	require.Equal(t, "start "+start, <-runs.calls, "one that is awake is let alone")

	require.NoError(t, b.store.SetReaperRests(t.Context(), true))
	second := b.task()
	start = b.ask(second, "start")
	require.Equal(t, "wake", <-runs.calls, "also after failures")
	require.Equal(t, "start "+start, <-runs.calls)
	require.False(t, rests())
	b.settled(second)

	third := b.task()
	start = b.ask(third, "start")
	require.Equal(t, "start "+start, <-runs.calls, "once is enough")
}

// The relay that took the note died before it woke the reaper.
func TestTheRelayAfterOneThatDiedWakesTheReaper(t *testing.T) {
	t.Parallel()
	b, runs := setup(t), newFakeRuns()
	taskID := b.task()
	b.ask(taskID, "start")
	b.exec(`UPDATE task_outbox SET leased_by = 'dead', lease_until = now() WHERE task_id = $1`, taskID)
	b.relay(quick(), runs)
	b.settled(taskID)
	require.Equal(t, []string{"wake"}, runs.of("reaper"))
}
