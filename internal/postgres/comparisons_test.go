package postgres_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/candidate"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

func (w world) comparison(ticketID string) candidate.Comparison {
	w.t.Helper()
	c, err := w.store.Comparison(w.t.Context(), w.org, ticketID)
	require.NoError(w.t, err)
	return c
}

func TestComparison_IsReadInAFixedNumberOfQueries(t *testing.T) {
	t.Parallel()
	w, seen := newWorld(t, postgres.Config{}).watched()
	two, ten := w.compare(w.project(1), 2), w.compare(w.project(1), 10)
	w.exec(`INSERT INTO tasks (id, organization_id, project_id, ticket_id, title, description, agent, provider)
		SELECT gen_random_uuid(), organization_id, project_id, $1, 'other', 'other', 'scripted', 'external' FROM tasks, generate_series(1, 20) WHERE ticket_id = $1`, ten)
	seen.since("")
	require.Len(t, w.comparison(two).Candidates, 2)
	few := seen.since("")
	got := w.comparison(ten)
	require.Equal(t, few, seen.since(""))
	require.Less(t, few, 6)
	require.Len(t, got.Candidates, 10, "other tasks of the ticket are not compared")
	for n, c := range got.Candidates {
		require.Equal(t, candidate.Name("scripted", strings.Repeat("m", n)), c.Name, "in the order of the request")
	}
	require.Equal(t, task.Budget{USD: 10}, got.Budget)
	require.Equal(t, candidate.WhyOpen, got.Recommendation.Why)
}

func TestComparison_HasTheFiguresOfTheNewestWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	ticket := w.compare(w.project(2), 2)
	a := asked{id: w.comparison(ticket).Candidates[0].TaskID, run: "run-1"}
	a.command = one[string](t, w.pool, `SELECT id::text FROM commands WHERE task_id = $1`, a.id)
	live := w.running(a)
	w.spends(live.SandboxID, 0.5, 7)
	w.finish(a, live, 4, task.StatusCompleted)
	require.NoError(t, w.store.SaveHead(t.Context(), a.id, live.Number, "c1"))
	require.NoError(t, w.store.SaveTestRepeat(t.Context(), contract.SandboxRef{TaskID: a.id, Attempt: live.Number}, task.TestRepeat{Outcome: task.TestsGreen}))
	require.NoError(t, w.store.SaveChangeSize(t.Context(), a.id, 3, 40))
	addAttempt := func(number int, kind, head string) {
		w.exec(`INSERT INTO sandboxes (id, organization_id, task_id, attempt, provider, host_bound, machine, labels)
			SELECT 'box-' || $2::integer, organization_id, id, $2::integer, 'external', false, 'f', '{}' FROM tasks WHERE id = $1`, a.id, number)
		w.exec(`INSERT INTO attempts (task_id, number, sandbox_id, run_id, ordinal, kind, head_commit) VALUES ($1, $2::integer, 'box-' || $2::integer, 'run-1', $2::integer + 100, $3, nullif($4, ''))`, a.id, number, kind, head)
	}
	addAttempt(2, "validation", "c1")
	addAttempt(3, "retry", "")
	got := w.comparison(ticket).Candidates[0]
	require.Equal(t, []any{task.TestsGreen, 1}, []any{got.Tests.Outcome, got.Tests.Attempt}, "the newest attempt with commits that is not a validator")
	require.Equal(t, []int{3, 40}, []int{*got.Files, *got.Lines})
	require.InDelta(t, 0.5, *got.CostUSD, 0)
	require.InDelta(t, 7, got.Tokens, 0)

	addAttempt(4, "retry", "c2")
	got = w.comparison(ticket).Candidates[0]
	require.Nil(t, got.Tests, "the tests were not repeated on the newest work")
	require.Nil(t, got.Lines, "nor was it counted")
	require.NoError(t, w.store.SaveChangeSize(t.Context(), a.id, 4, 50))
	require.Equal(t, 50, *w.comparison(ticket).Candidates[0].Lines)

	for _, of := range []string{task.NewID(), w.org} {
		_, err := w.store.Comparison(t.Context(), of, task.NewID())
		require.Equal(t, task.CodeNotFound, task.CodeOf(err))
	}
	_, err := w.store.Comparison(t.Context(), task.NewID(), ticket)
	require.Equal(t, task.CodeNotFound, task.CodeOf(err), "of another organization")
}
