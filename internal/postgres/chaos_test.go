package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

// Dependent tasks in two projects run through all operations that lock rows. The store retries transactions that
// deadlock, so the test reads the deadlock statistics of the database.
func TestStore_NoDeadlocks(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	check, pool := pgtest.Connect(t, url), pgtest.Connect(t, url)
	w := world{t: t, pool: pool, store: postgres.New(pool, postgres.Config{}), org: task.NewID()}
	w.exec(`INSERT INTO organizations (id, name, max_slots) VALUES ($1, 'org', 4)`, w.org)
	tasks := w.chain(w.project(3), w.project(2), 24)
	const workers, rounds = 6, 40
	var wait sync.WaitGroup
	for seed := range uint64(workers) {
		wait.Go(func() {
			r := rand.New(rand.NewPCG(seed, 1)) // reproducible
			for range rounds {
				if err := w.disturb(r, tasks[r.IntN(len(tasks))]); err != nil {
					t.Errorf("%v", err)
				}
			}
		})
	}
	wait.Wait()
	pool.Close() // connections report their statistics when they close
	require.Zero(t, count(t, check, `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`))
	require.Zero(t, count(t, check, `SELECT count(*) FROM slots s JOIN tasks t ON t.id = s.task_id
		WHERE t.status IN ('completed', 'failed', 'cancelled') OR t.queued_at IS NOT NULL`), "a slot of a task that asks for one, or is over")
	require.LessOrEqual(t, count(t, check, `SELECT count(*) FROM slots`), 4)
	_, err := check.Exec(t.Context(), `SELECT omoi_admit_all($1)`, w.org)
	require.NoError(t, err)
	require.Zero(t, count(t, check, `SELECT count(*) FROM tasks t WHERE status = 'pending' AND blocked_reason = '' AND run_id <> ''
		AND queued_at IS NULL AND NOT EXISTS (SELECT FROM slots WHERE task_id = t.id)`), "a task that nobody will let in")
}

// chain creates n tasks; each depends on the task three before it.
func (w world) chain(one, other string, n int) []asked {
	w.t.Helper()
	var tasks []asked
	for i := range n {
		project := one
		if i%2 == 1 {
			project = other
		}
		a := w.task(project, "")
		if i >= 3 && i%2 == 0 {
			w.exec(`INSERT INTO task_dependencies VALUES ($1, $2)`, a.id, tasks[i-3].id)
		}
		tasks = append(tasks, a)
	}
	return tasks
}

// disturb runs one random operation on a task. Rejections by the task's state are not failures.
func (w world) disturb(r *rand.Rand, a asked) error {
	ctx := w.t.Context()
	run := fmt.Sprintf("%s-%d", a.run, r.IntN(2))
	p := contract.Projection{
		TaskID: a.id, FirstRunID: a.run, Ordinal: int64(r.IntN(1000)), Status: task.Statuses()[r.IntN(len(task.Statuses()))],
		ReleaseSlot: r.IntN(2) == 0, RequestSlot: r.IntN(2) == 0,
	}
	p.RequestSlot = p.RequestSlot || p.ReleaseSlot // a workflow that releases its slot permanently has a reason
	var err error
	switch r.IntN(7) {
	case 0, 1:
		_, err = w.store.LoadTask(ctx, a.ref(), run)
	case 2, 3:
		_, err = w.store.SaveTaskState(ctx, p, run, func(context.Context) (bool, error) { return true, nil })
	case 4:
		_, err = w.store.BeginAttempt(ctx, contract.BeginAttemptInput{TaskID: a.id, Ordinal: p.Ordinal, Kind: "first"}, run)
	case 5:
		err = w.store.Abandon(ctx, a.id, "chaos")
	default:
		err = w.store.Grant(ctx)
	}
	switch task.CodeOf(err) { //nolint:exhaustive // the rest are failures
	case "", task.CodeConflict, task.CodeExhausted:
		return nil
	}
	return err
}
