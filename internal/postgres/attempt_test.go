package postgres_test

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestBeginAttempt_WritesIntentOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	w.load(a)
	first := w.begin(a, 1)
	require.Equal(t, first, w.begin(a, 1), "a repeat after a lost answer is the same attempt")
	require.Equal(t, 1, first.Number)
	require.Len(t, first.SandboxID, 26)
	require.Equal(t, contract.QueueTasks, first.Queue)
	second := w.begin(a, 5)
	require.Equal(t, 2, second.Number)
	require.NotEqual(t, first.SandboxID, second.SandboxID)
	require.Equal(t, "2", w.row(a.id, "attempt_count"))

	row, err := w.store.LedgerSandbox(t.Context(), first.SandboxID)
	require.NoError(t, err)
	require.Equal(t, task.SandboxIntended, row.State)
	require.Equal(t, a.id, row.TaskID)
	require.Equal(t, 1, row.Attempt)
	installation, err := w.store.Installation(t.Context())
	require.NoError(t, err)
	var labels sandbox.Labels
	require.NoError(t, json.Unmarshal([]byte(one[string](t, w.pool, `SELECT labels::text FROM sandboxes WHERE id = $1`, first.SandboxID)), &labels))
	require.Equal(t, sandbox.Labels{Installation: installation, TaskID: a.id, Attempt: 1, SandboxID: first.SandboxID}, labels)
}

func TestBeginAttempt_ConcurrentCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	w.load(a)
	got := make([]contract.LiveAttempt, 8)
	var wait sync.WaitGroup
	for i := range got {
		wait.Go(func() { got[i] = w.begin(a, 1) })
	}
	wait.Wait()
	for _, g := range got {
		require.Equal(t, got[0], g)
	}
	require.Equal(t, 1, count(t, w.pool, `SELECT count(*) FROM sandboxes`))
}

func TestBeginAttempt_OtherRunIsFenced(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	w.load(a)
	begun, err := w.store.BeginAttempt(t.Context(), contract.BeginAttemptInput{TaskID: a.id, Ordinal: 1, Kind: "first"}, "other")
	require.NoError(t, err)
	require.True(t, begun.Fenced)
	require.Zero(t, count(t, w.pool, `SELECT count(*) FROM sandboxes`))
}

func TestBeginAttempt_LimitOfAttempts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	w.load(a)
	for i := range task.MaxAttempts {
		w.begin(a, int64(i+1))
	}
	_, err := w.store.BeginAttempt(t.Context(), contract.BeginAttemptInput{TaskID: a.id, Ordinal: 99, Kind: "retry"}, a.run)
	require.Equal(t, task.CodeConflict, task.CodeOf(err), "for good: a task that asked again and again would never end")
}

func TestBeginAttempt_ChoosesHostWithRoom(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	ctx := t.Context()
	a := w.task(w.project(5), "provider = 'local'")
	w.load(a)
	in := contract.BeginAttemptInput{TaskID: a.id, FirstRunID: a.run, Ordinal: 1, Kind: "first"}
	begun, err := w.store.BeginAttempt(ctx, in, a.run)
	require.NoError(t, err)
	require.Positive(t, begun.Wait)
	require.Equal(t, string(task.ReasonNoHost), begun.Reason)
	require.Equal(t, task.Reason{Code: task.ReasonNoHost, Provider: "local"}, w.awaits(a.id))

	w.hostSeen("lost", []string{"local"}, 0)
	w.loseHost("lost")
	w.hostSeen("docker-only", []string{"docker"}, 0)
	w.hostSeen("silent", []string{"local"}, 0)
	w.exec(`UPDATE hosts SET seen_at = now() - interval '31 seconds' WHERE id = 'silent'`)
	begun, err = w.store.BeginAttempt(ctx, in, a.run)
	require.NoError(t, err)
	require.Positive(t, begun.Wait)

	w.hostSeen("one", []string{"local", "docker"}, 1)
	live := w.begin(a, 1)
	require.Equal(t, contract.QueueHost("one"), live.Queue)
	in.Ordinal = 2
	begun, err = w.store.BeginAttempt(ctx, in, a.run)
	require.NoError(t, err)
	require.Equal(t, string(task.ReasonHostsFull), begun.Reason)
	require.Equal(t, task.Reason{Code: task.ReasonHostsFull, Provider: "local", Limit: 1}, w.awaits(a.id))

	w.hostSeen("two", []string{"local"}, 4)
	require.Equal(t, contract.QueueHost("two"), w.begin(a, 2).Queue)
	for _, event := range []string{"deleting", "gone", "verified"} {
		require.NoError(t, w.store.RecordSandboxState(ctx, contract.RecordSandboxStateInput{SandboxID: live.SandboxID, Event: event}))
	}
	require.Equal(t, contract.QueueHost("one"), w.begin(a, 3).Queue, "room comes back when the sandbox is gone")
}

func TestBeginAttempt_KeepsHostCapacity(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	w.hostSeen("small", []string{"local"}, 3)
	p := w.project(20)
	var wait sync.WaitGroup
	for range 12 {
		a := w.task(p, "provider = 'local'")
		w.load(a)
		wait.Go(func() {
			in := contract.BeginAttemptInput{TaskID: a.id, FirstRunID: a.run, Ordinal: 1, Kind: "first"}
			if _, err := w.store.BeginAttempt(t.Context(), in, a.run); err != nil {
				t.Errorf("begin: %v", err)
			}
		})
	}
	wait.Wait()
	require.Equal(t, 3, count(t, w.pool, `SELECT count(*) FROM sandboxes`))
}

func TestBeginAttempt_WaitsForUnverifiedSandboxes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{MaxUnverified: 2})
	p := w.project(5)
	a := w.task(p, "provider = 'daytona'")
	w.load(a)
	for i := range int64(2) {
		live := w.begin(a, i+1)
		require.Equal(t, contract.QueueSandboxes, live.Queue)
		w.exec(`UPDATE sandboxes SET ended_at = now() WHERE id = $1`, live.SandboxID)
	}
	in := contract.BeginAttemptInput{TaskID: a.id, Ordinal: 3, Kind: "retry"}
	begun, err := w.store.BeginAttempt(t.Context(), in, a.run)
	require.NoError(t, err)
	require.Positive(t, begun.Wait)
	require.Equal(t, string(task.ReasonUnverifiedLimit), begun.Reason)
	require.Equal(t, task.Reason{Code: task.ReasonUnverifiedLimit, Provider: "daytona", Used: 2, Limit: 2}, w.awaits(a.id))

	other := w.task(p, "") // another provider is not limited
	w.load(other)
	w.begin(other, 1)
	w.exec(`UPDATE sandboxes SET verified_at = now() WHERE attempt = 1`)
	w.begin(a, 3)
}

// Two agents of one task must not run at the same time, also after a reset of the workflow.
func TestBeginAttempt_WaitsForEarlierSandbox(t *testing.T) {
	t.Parallel()
	const bound = time.Hour
	w := newWorld(t, postgres.Config{Settings: contract.Settings{CleanupWait: bound}})
	for name, end := range map[string]string{
		"seen to be gone":      "gone_at = now(), state = 'gone'",
		"given up by a person": "state = 'lost'",
		"the bound is over":    "",
	} {
		a := w.task(w.project(5), "provider = 'daytona'")
		w.load(a)
		live := w.begin(a, 1)
		w.write(a, contract.Projection{Ordinal: 2, Status: task.StatusPending, Ended: &contract.AttemptEnd{Number: 1, Outcome: "failed"}})
		reset := a
		reset.run = "run-" + task.NewSandboxID() // of the same chain of runs
		loaded := w.loadAs(contract.TaskRef{TaskID: a.id, FirstRunID: a.run, CommandID: a.command}, reset.run)
		in := contract.BeginAttemptInput{TaskID: a.id, FirstRunID: a.run, Ordinal: loaded.Ordinal + 1, Kind: "retry"}
		begun, err := w.store.BeginAttempt(t.Context(), in, reset.run)
		require.NoError(t, err)
		require.Positive(t, begun.Wait, name)
		require.Equal(t, string(task.ReasonEarlierSandbox), begun.Reason)
		require.Equal(t, task.Reason{Code: task.ReasonEarlierSandbox, Attempt: 1, Seconds: 3600}, w.awaits(a.id))
		if end == "" {
			w.exec(`UPDATE attempts SET ended_at = ended_at - interval '1 hour' WHERE task_id = $1`, a.id)
		} else {
			w.exec(`UPDATE sandboxes SET `+end+` WHERE id = $1`, live.SandboxID)
		}
		require.Equal(t, 2, w.begin(reset, in.Ordinal).Number, name)
	}
}

// A sandbox that was seen and is deleted only waits for its second check and does not count. A sandbox that was never
// seen may still appear.
func TestBeginAttempt_DeletedSandboxesDoNotCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{MaxUnverified: 1})
	a := w.task(w.project(5), "provider = 'daytona'")
	w.load(a)
	w.begin(a, 1)
	in := contract.BeginAttemptInput{TaskID: a.id, Ordinal: 2, Kind: "retry"}
	for _, doubtful := range []string{"made_at = now()", "made_at = NULL, gone_at = now()"} {
		w.exec(`UPDATE sandboxes SET ended_at = now(), ` + doubtful)
		begun, err := w.store.BeginAttempt(t.Context(), in, a.run)
		require.NoError(t, err)
		require.Positive(t, begun.Wait, doubtful)
	}
	w.exec(`UPDATE sandboxes SET made_at = created_at, gone_at = now()`)
	w.begin(a, 2)
}

func TestWork_HasFeedbackOfAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	ctx := t.Context()
	a := w.task(w.project(5), `execution_config = '{"setup": "make", "unknown": 1, "script": {"steps": []}}', branch_name = 'b'`)
	w.load(a)
	w.begin(a, 1)
	work, err := w.store.Work(ctx, a.id)
	require.NoError(t, err)
	require.Empty(t, work.Feedback)
	require.Equal(t, "make", *work.Execution.Setup)
	require.Equal(t, []any{"", time.Duration(0)}, []any{work.Setup, work.SetupTimeout})
	_, err = w.pool.Exec(ctx, `UPDATE projects SET setup = 'make deps', setup_timeout_s = 60`)
	require.NoError(t, err)
	work, err = w.store.Work(ctx, a.id)
	require.NoError(t, err)
	require.Equal(t, []any{"make deps", time.Minute}, []any{work.Setup, work.SetupTimeout})
	require.JSONEq(t, `{"steps": []}`, string(work.Execution.Script))
	require.Equal(t, "b", work.Branch)
	require.Equal(t, "ticket", work.TicketTitle)

	id, err := w.store.SaveText(ctx, a.id, "feedback", "add tests\x00 \xff")
	require.NoError(t, err)
	_, err = w.store.BeginAttempt(ctx, contract.BeginAttemptInput{TaskID: a.id, Ordinal: 2, Kind: "revision", FeedbackID: id}, a.run)
	require.NoError(t, err)
	work, err = w.store.Work(ctx, a.id)
	require.NoError(t, err)
	require.Equal(t, "add tests\uFFFD \uFFFD", work.Feedback)
	_, err = w.store.Work(ctx, task.NewID())
	require.Equal(t, task.CodeNotFound, task.CodeOf(err))
}

func TestNoteDoubt_IsClearedByNextEvent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	w.load(a)
	live := w.begin(a, 1)
	w.exec(`UPDATE tasks SET status = 'running', sandbox_id = $2 WHERE id = $1`, a.id, live.SandboxID)
	shown := func() string {
		got, err := w.store.Task(t.Context(), one[string](t, w.pool, `SELECT organization_id::text FROM tasks WHERE id = $1`, a.id), a.id)
		require.NoError(t, err)
		return got.WaitingFor.Detail
	}
	require.NoError(t, w.store.NoteDoubt(t.Context(), live.SandboxID, task.Reason{Code: task.ReasonProviderUnreachable, Detail: "The provider cannot be reached."}))
	require.Equal(t, "The provider cannot be reached.", shown())
	w.exec(`UPDATE sandboxes SET last_event_at = clock_timestamp() WHERE id = $1`, live.SandboxID)
	require.Empty(t, shown())
	require.NoError(t, w.store.NoteDoubt(t.Context(), live.SandboxID, task.Reason{Code: task.ReasonStoreUnreachable, Detail: "The database cannot be reached."}))
	require.NoError(t, w.store.NoteDoubt(t.Context(), live.SandboxID, task.Reason{}))
	require.Empty(t, shown())
}
