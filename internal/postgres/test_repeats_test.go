package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// The sandbox of a repeat belongs to its attempt: the reaper leaves it alone until the attempt has ended.
func TestTestRepeat_SandboxBelongsToTheAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(1), "")
	live := w.running(a)
	of := contract.SandboxRef{TaskID: a.id, SandboxID: live.SandboxID, Attempt: live.Number}
	first, former, err := w.store.BeginTestRepeat(t.Context(), of)
	require.NoError(t, err)
	require.Empty(t, former)
	id, former, err := w.store.BeginTestRepeat(t.Context(), of)
	require.NoError(t, err)
	require.Equal(t, first, former)
	row, err := w.store.LedgerSandbox(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, []any{a.id, live.Number, live.Provider, task.SandboxIntended}, []any{row.TaskID, row.Attempt, row.Provider, row.State})
	require.Contains(t, string(row.Labels), id)
	require.Equal(t, task.SalvageNone, row.Salvage.Kind, "there is no work to save")

	w.exec(`UPDATE sandboxes SET created_at = now() - interval '1 hour'`)
	orphans := func() (ids []string) {
		found, err := w.store.LedgerOrphans(t.Context(), time.Minute)
		require.NoError(t, err)
		listed, err := w.store.Unowned(t.Context(), []sandbox.Sandbox{{Labels: sandbox.Labels{SandboxID: id}, CreatedAt: time.Now().Add(-time.Hour)}}, time.Minute)
		require.NoError(t, err)
		for _, o := range append(found, listed...) {
			ids = append(ids, o.SandboxID)
		}
		return ids
	}
	require.Equal(t, []string{first}, orphans(), "of a try that another one followed")
	w.exec(`UPDATE attempts SET ended_at = now() - interval '1 hour'`)
	require.ElementsMatch(t, []string{live.SandboxID, first, id, id}, orphans())
	_, _, err = w.store.BeginTestRepeat(t.Context(), of)
	require.Equal(t, task.CodeGone, task.CodeOf(err), "an attempt that has ended gets no sandbox")
}

// A sandbox of a repeat ends with its attempt, or with its deletion before that.
func TestTestRepeat_SandboxEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(1), "")
	live := w.running(a)
	of := contract.SandboxRef{TaskID: a.id, SandboxID: live.SandboxID, Attempt: live.Number}
	first, _, err := w.store.BeginTestRepeat(t.Context(), of)
	require.NoError(t, err)
	second, _, err := w.store.BeginTestRepeat(t.Context(), of)
	require.NoError(t, err)
	w.settle(first, "deleting")
	require.NotNil(t, w.ledger(first).EndedAt)
	require.Nil(t, w.ledger(second).EndedAt)
	w.finish(a, live, 4, task.StatusCompleted)
	require.NotNil(t, w.ledger(second).EndedAt)
}

// A task whose tests are repeated has two sandboxes and reserves a part of the budget once.
func TestTestRepeat_ReservesNoBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	p := w.project(1)
	a := w.task(p, "")
	live := w.running(a)
	_, err := w.store.SetProjectBudget(t.Context(), w.org, p, "me", task.Budget{USD: 10})
	require.NoError(t, err)
	room := func() int { return count(t, w.pool, `SELECT omoi_budget_room($1)`, p) }
	require.Equal(t, 9, room())
	_, _, err = w.store.BeginTestRepeat(t.Context(), contract.SandboxRef{TaskID: a.id, SandboxID: live.SandboxID, Attempt: live.Number})
	require.NoError(t, err)
	require.Equal(t, 9, room())
}

func TestTestRepeat_IsKeptByCommitAndCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(1), "")
	live := w.running(a)
	of := contract.SandboxRef{TaskID: a.id, SandboxID: live.SandboxID, Attempt: live.Number}
	none, err := w.store.TestRepeat(t.Context(), a.id, "c2", "make test")
	require.NoError(t, err)
	require.Nil(t, none)
	saved := task.TestRepeat{Own: task.TestPassed, WithBase: task.TestPassed, Changed: []string{}, Commit: "c2", Command: "make test"}.Judged()
	require.NoError(t, w.store.SaveTestRepeat(t.Context(), of, saved))
	got, err := w.store.TestRepeat(t.Context(), a.id, "c2", "make test")
	require.NoError(t, err)
	require.Equal(t, task.TestsGreen, got.Outcome)
	for _, other := range [][2]string{{"c3", "make test"}, {"c2", "make check"}} {
		none, err := w.store.TestRepeat(t.Context(), a.id, other[0], other[1])
		require.NoError(t, err)
		require.Nil(t, none)
	}
	read, err := w.store.Task(t.Context(), w.org, a.id)
	require.NoError(t, err)
	shown := read.Attempts[0].TestRepeat
	require.Equal(t, []any{1, saved.Words()}, []any{shown.Attempt, shown.Message})
	proof, err := w.store.Receipt(t.Context(), w.org, a.id)
	require.NoError(t, err)
	require.Equal(t, []task.TestRepeat{*shown}, proof.TestRepeats)
}

// A failure of the sandbox says nothing of the work: a later attempt with the same commit repeats the tests.
func TestTestRepeat_FailedSandboxIsNoResult(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(1), "")
	live := w.running(a)
	of := contract.SandboxRef{TaskID: a.id, SandboxID: live.SandboxID, Attempt: live.Number}
	for why, kept := range map[string]bool{task.TestsUnavailable: false, task.TestsTimedOut: true} {
		require.NoError(t, w.store.SaveTestRepeat(t.Context(), of, task.TestRepeat{Why: why, Commit: "c2", Command: "make test"}.Judged()))
		got, err := w.store.TestRepeat(t.Context(), a.id, "c2", "make test")
		require.NoError(t, err)
		require.Equal(t, kept, got != nil, why)
	}
}

func TestWork_SaysHowTestsAreRepeated(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	p := w.project(1)
	a := w.task(p, "")
	for settings, want := range map[string][]any{
		`{}`: {true, time.Duration(0), false},
		`{"repeat_tests":false,"test_timeout_seconds":90,"tests_may_change":false}`: {false, 90 * time.Second, true},
		`{"repeat_tests":"no","test_timeout_seconds":"90","tests_may_change":true}`: {true, time.Duration(0), false},
	} {
		w.exec(`UPDATE projects SET settings = $1`, settings)
		work, err := w.store.Work(t.Context(), a.id)
		require.NoError(t, err)
		require.Equal(t, want, []any{work.RepeatTests, work.TestTimeout, work.TestsFixed}, settings)
	}
}
