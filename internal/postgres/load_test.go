package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestLoadTask_ClaimsStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{Settings: contract.Settings{RetryBase: time.Millisecond}})
	a := w.task(w.project(5), "continuous = true, max_retries = 2")
	loaded := w.load(a)
	require.True(t, loaded.HoldsSlot)
	require.False(t, loaded.Reset)
	require.True(t, loaded.HasRepo)
	require.Nil(t, loaded.Live)
	require.Equal(t, task.State{Status: task.StatusPending, Continuous: true, MaxRetries: 2}, loaded.State)
	require.Equal(t, "title", loaded.Title)
	require.Equal(t, time.Millisecond, loaded.Settings.RetryBase)
	require.Equal(t, 3*time.Minute, loaded.Settings.StartupTimeout)
	require.Equal(t, "carried_out", w.receipt(a.command))
	require.Equal(t, loaded, w.load(a), "a repeat after a lost answer says the same")
}

func TestLoadTask_OtherChainLosesClaim(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	w.load(a)
	other := a.ref()
	other.FirstRunID = "other"
	require.True(t, w.loadAs(other, "other").Lost)
	require.Equal(t, a.run, w.row(a.id, "run_id"))
	other.CommandID = task.NewID()
	require.True(t, w.loadAs(other, "other").Lost, "a command that nobody knows")
}

func TestLoadTask_UnknownTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	_, err := w.store.LoadTask(t.Context(), contract.TaskRef{TaskID: task.NewID(), CommandID: task.NewID()}, "run")
	require.Equal(t, task.CodeNotFound, task.CodeOf(err))
}

func TestLoadTask_QueuedTaskHasNoSlot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	p := w.project(1)
	w.task(p, "")
	a := w.task(p, "")
	loaded := w.load(a)
	require.False(t, loaded.HoldsSlot)
	require.Equal(t, task.BlockedNone, loaded.State.Blocked)
	require.Equal(t, "1", w.row(a.id, "queue_position"))
}

func TestLoadTask_EndedBeforeStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	w.exec(`UPDATE tasks SET status = 'cancelled' WHERE id = $1`, a.id)
	for range 2 {
		require.Equal(t, task.StatusCancelled, w.loadAs(a.ref(), a.run).Settled)
	}
	require.Equal(t, "too_late", w.receipt(a.command))
}

func TestLoadTask_RetryReopens(t *testing.T) {
	t.Parallel()
	for _, end := range []task.Status{task.StatusFailed, task.StatusCancelled} {
		t.Run(string(end), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, postgres.Config{})
			a := w.task(w.project(5), "")
			w.finish(a, w.running(a), 4, end)
			require.False(t, w.holdsSlot(a.id))
			again := asked{id: a.id, command: w.command(a.id, contract.CommandRetry, `{}`), run: "again"}
			for range 2 {
				loaded := w.load(again)
				require.Equal(t, task.StatusPending, loaded.State.Status)
				require.True(t, loaded.HoldsSlot)
				require.False(t, loaded.Reset)
				require.False(t, loaded.PublishOnly)
				require.Equal(t, 1, loaded.State.Attempts)
				require.Equal(t, int64(4), loaded.Ordinal)
			}
			require.Equal(t, "carried_out", w.receipt(again.command))
			require.Empty(t, w.row(a.id, "error_message"))
			require.Empty(t, w.row(a.id, "completed_at"))
			require.Equal(t, 2, w.begin(again, 5).Number)
		})
	}
}

// A credential rejected during the work differs from one rejected while publishing.
func TestLoadTask_RetryAfterRejectedCredential(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ended task.FailureClass
		saved task.Salvage
		want  bool
	}{
		"work half done":  {task.ClassCredentials, task.Salvage{Kind: task.SalvageRef, Ref: "refs/omoi/rescue/t/1", Head: "beef"}, false},
		"work done":       {task.ClassPublish, task.Salvage{Kind: task.SalvageRef, Ref: "refs/omoi/rescue/t/1", Head: "beef"}, true},
		"kept as a text":  {task.ClassPublish, task.Salvage{Kind: task.SalvagePatch, Ref: "text", Head: "beef"}, true},
		"a patch is none": {task.ClassPublish, task.Salvage{Kind: task.SalvagePatch, Ref: "text"}, false},
	} {
		w := newWorld(t, postgres.Config{})
		a := w.task(w.project(5), "")
		live := w.running(a)
		w.write(a, contract.Projection{
			Ordinal: 4, Status: task.StatusFailed, Class: task.ClassCredentials, ReleaseSlot: true,
			Ended: &contract.AttemptEnd{Number: live.Number, Outcome: "failed", Class: c.ended},
		})
		require.NoError(t, w.store.SaveSalvage(t.Context(), live.SandboxID, c.saved))
		w.exec(`UPDATE tasks SET provider = 'local', agent = 'scripted' WHERE id = $1`, a.id)
		loaded := w.load(asked{id: a.id, command: w.command(a.id, contract.CommandRetry, `{}`), run: "again"})
		require.Equal(t, []bool{c.want, c.want}, []bool{loaded.PublishOnly, loaded.Saved}, name)
	}
}

func TestLoadTask_RetryPublishesOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	live := w.running(a)
	w.write(a, contract.Projection{
		Ordinal: 4, Status: task.StatusFailed, Class: task.ClassPublish, ReleaseSlot: true,
		Ended: &contract.AttemptEnd{Number: live.Number, Outcome: "failed", Class: task.ClassPublish},
	})
	again := asked{id: a.id, command: w.command(a.id, contract.CommandRetry, `{}`), run: "again"}
	w.exec(`UPDATE tasks SET provider = 'local', agent = 'scripted' WHERE id = $1`, a.id)
	require.False(t, w.load(again).PublishOnly, "the branch does not hold its work: an attempt has to do it again")
	require.NoError(t, w.store.SaveHead(t.Context(), a.id, live.Number, "c0ffee"))
	require.True(t, w.load(again).PublishOnly)
	w.exec(`UPDATE attempts SET head_commit = NULL`)
	saved := task.Salvage{Kind: task.SalvageRef, Ref: "refs/omoi/rescue/t/1", Head: "beef"}
	require.NoError(t, w.store.SaveSalvage(t.Context(), live.SandboxID, saved))
	require.True(t, w.load(again).PublishOnly, "it is saved beside the branch")
	unpublished, err := w.store.Unpublished(t.Context(), a.id)
	require.NoError(t, err)
	require.Equal(t, task.Unpublished{Attempt: live.Number, Ref: saved.Ref, Head: "beef"}, unpublished)
	w.exec(`UPDATE sandboxes SET salvage = NULL`)
	require.False(t, w.load(again).PublishOnly)
	w.exec(`UPDATE tasks SET provider = 'external', agent = 'external' WHERE id = $1`, a.id)
	require.True(t, w.load(again).PublishOnly, "what works outside brings its work there itself")
	require.False(t, w.load(again).Saved)
	w.write(again, contract.Projection{Ordinal: 5, Status: task.StatusPending, RequestSlot: true})
	require.True(t, w.load(again).PublishOnly, "also when it is loaded again")
	w.write(again, contract.Projection{Ordinal: 6, Status: task.StatusCompleted, ReleaseSlot: true, PullURL: "u", PullNumber: 7})
	require.Equal(t, "completed", w.row(a.id, "status"))
	require.Empty(t, w.row(a.id, "failure_class"))
}

func TestLoadTask_ResetOfEndedTask(t *testing.T) {
	t.Parallel()
	for _, end := range []task.Status{task.StatusFailed, task.StatusCancelled, task.StatusCompleted} {
		t.Run(string(end), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, postgres.Config{})
			a := w.task(w.project(5), "")
			w.finish(a, w.running(a), 4, end)
			loaded := w.loadAs(a.ref(), "reset-run")
			if end == task.StatusCompleted {
				require.Equal(t, end, loaded.Settled)
				return
			}
			require.Empty(t, loaded.Settled)
			require.True(t, loaded.Reset)
			require.True(t, loaded.HoldsSlot)
			require.Equal(t, task.StatusPending, loaded.State.Status)
			require.Equal(t, loaded, w.loadAs(a.ref(), "reset-run"))
		})
	}
}

func TestLoadTask_ContinuedRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	live := w.running(a)
	w.event(live.SandboxID, "agent.started", `{}`)
	ref := a.ref()
	ref.Continues = a.run
	for range 2 { // the first result may be lost
		loaded := w.loadAs(ref, "continued-run")
		require.True(t, loaded.Continues)
		require.EqualValues(t, 1, loaded.Live.LastSequence)
	}
	_, err := w.writeAs(a, contract.Projection{Ordinal: 4, Status: task.StatusRunning}, "continued-run", true)
	require.NoError(t, err)
	for range 2 {
		loaded := w.loadAs(ref, "its-reset")
		require.False(t, loaded.Continues)
		require.True(t, loaded.Reset)
		require.Equal(t, live.SandboxID, loaded.Live.SandboxID)
	}
}

func TestLoadTask_EndingRunIsNoReset(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	w.finish(a, w.running(a), 4, task.StatusFailed)
	require.Equal(t, task.StatusFailed, w.loadAs(a.ref(), a.run).Settled)
}

func TestLoadTask_ResetWithRunningSandbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	live := w.running(a)
	w.event(live.SandboxID, "agent.started", `{}`)
	w.event(live.SandboxID, "agent.tool_use", `{}`)
	loaded := w.loadAs(a.ref(), "reset-run")
	require.True(t, loaded.Reset)
	require.True(t, loaded.HoldsSlot)
	require.NotNil(t, loaded.Live)
	require.Equal(t, contract.LiveAttempt{
		Number: 1, SandboxID: live.SandboxID, Provider: "external", Queue: contract.QueueTasks,
		LastSequence: 2, Assigned: true, Started: true,
	}, *loaded.Live)
	require.Equal(t, task.StatusRunning, loaded.State.Status)
	require.Equal(t, live.SandboxID, loaded.State.SandboxID)
	answer, err := w.writeAs(a, contract.Projection{Ordinal: 4, Status: task.StatusRunning}, a.run, false)
	require.NoError(t, err)
	require.True(t, answer.Fenced, "the run before it is fenced off")
}

func TestLoadTask_ResetWithDeletedSandbox(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"deleting", "gone", "lost"} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, postgres.Config{})
			a := w.task(w.project(5), "")
			live := w.running(a)
			w.exec(`UPDATE sandboxes SET state = $2 WHERE id = $1`, live.SandboxID, state)
			loaded := w.loadAs(a.ref(), "reset-run")
			require.Nil(t, loaded.Live)
			require.Equal(t, task.StatusPending, loaded.State.Status)
			require.Empty(t, w.row(a.id, "sandbox_id"))
			require.Equal(t, "infrastructure", one[string](t, w.pool, `SELECT failure_class FROM attempts WHERE ended_at IS NOT NULL`))
			a.run = "reset-run"
			next := w.begin(a, loaded.Ordinal+1)
			require.Equal(t, 2, next.Number)
			w.write(a, contract.Projection{Ordinal: loaded.Ordinal + 2, Status: task.StatusAssigned, SandboxID: next.SandboxID})
		})
	}
}

func TestLoadTask_ResetOfSuspendedTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	live := w.running(a)
	w.write(a, contract.Projection{
		Ordinal: 4, Status: task.StatusPending, Blocked: task.BlockedUnknownTooLong, ReleaseSlot: true, Class: task.ClassInfrastructure,
		Ended: &contract.AttemptEnd{Number: live.Number, Outcome: "suspended", Class: task.ClassInfrastructure},
	})
	require.False(t, w.holdsSlot(a.id))
	loaded := w.loadAs(a.ref(), "reset-run")
	require.Equal(t, task.BlockedNone, loaded.State.Blocked)
	require.True(t, loaded.HoldsSlot)
	require.Empty(t, w.row(a.id, "blocked_reason"))
	require.Equal(t, loaded, w.loadAs(a.ref(), "reset-run"))
}
