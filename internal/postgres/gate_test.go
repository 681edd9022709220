package postgres_test

import (
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestAdmission_QueuePosition(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	p := w.project(5)
	var tasks []asked
	for range 7 {
		tasks = append(tasks, w.task(p, ""))
	}
	for _, a := range tasks[:5] {
		require.True(t, w.holdsSlot(a.id))
		require.Equal(t, "true", one[string](t, w.pool, `SELECT admit::text FROM task_outbox WHERE task_id = $1`, a.id))
	}
	require.False(t, w.holdsSlot(tasks[5].id))
	require.Equal(t, "1", w.row(tasks[5].id, "queue_position"))
	require.Equal(t, "2", w.row(tasks[6].id, "queue_position"))
	require.Equal(t, task.Reason{Code: task.ReasonProjectLimit, Used: 5, Limit: 5}, w.waits(tasks[5].id))

	live := w.running(tasks[0])
	w.finish(tasks[0], live, 4, task.StatusCompleted)
	require.True(t, w.holdsSlot(tasks[5].id))
	require.Empty(t, w.row(tasks[5].id, "queue_position"))
	require.Empty(t, w.row(tasks[5].id, "queue_reason"))
	require.Equal(t, "1", w.row(tasks[6].id, "queue_position"))
	require.True(t, one[bool](t, w.pool, `SELECT admit AND due_at <= now() FROM task_outbox WHERE task_id = $1`, tasks[5].id))
}

func TestAdmission_FairBetweenProjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	w.exec(`UPDATE organizations SET max_slots = 0`)
	large, small := w.project(10), w.project(5)
	for range 8 {
		w.task(large, "priority = 'CRITICAL'")
	}
	for range 8 {
		w.task(small, "priority = 'LOW'")
	}
	w.exec(`UPDATE organizations SET max_slots = 6`)
	w.gate()
	held := func(project string) int {
		return count(t, w.pool, `SELECT count(*) FROM slots WHERE project_id = $1`, project)
	}
	require.Equal(t, 4, held(large), "two thirds of the room, as the limits are two to one")
	require.Equal(t, 2, held(small), "urgent work of another project does not starve it")
	waits := one[string](t, w.pool, `SELECT queue_reason::text FROM tasks WHERE project_id = $1 AND queued_at IS NOT NULL LIMIT 1`, small)
	require.Equal(t, task.Reason{Code: task.ReasonOrganizationLimit, Used: 6, Limit: 6}, task.ParseReason(waits))
}

func TestAdmission_LimitOfZero(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	p := w.project(2)
	w.task(p, "")
	w.exec(`UPDATE projects SET max_slots = 0`)
	closed := w.task(p, "")
	require.Equal(t, task.Reason{Code: task.ReasonProjectLimit, Used: 1}, w.waits(closed.id))
	w.exec(`UPDATE projects SET max_slots = 5`)
	w.exec(`UPDATE organizations SET max_slots = 0`)
	w.gate()
	require.Equal(t, task.ReasonOrganizationLimit, w.waits(closed.id).Code)
	require.Zero(t, w.waits(closed.id).Limit)
}

func TestAdmission_ByScoreInProject(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	p := w.project(0)
	low := w.task(p, "priority = 'LOW'")
	old := w.task(p, "priority = 'LOW', created_at = now() - interval '3 hours'")
	critical := w.task(p, "priority = 'CRITICAL'")
	soon := w.task(p, "priority = 'CRITICAL', deadline_at = now() + interval '5 minutes'")
	for i, a := range []asked{soon, old, critical, low} {
		require.Equal(t, strconv.Itoa(i+1), w.row(a.id, "queue_position"))
	}
	w.exec(`UPDATE projects SET max_slots = 1`)
	w.gate()
	require.True(t, w.holdsSlot(soon.id))
}

func TestAdmission_Scores(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	p := w.project(0)
	score := func(edit string, behind int) float64 {
		a := w.task(p, edit)
		return one[float64](t, w.pool, `SELECT omoi_score(priority, extract(epoch FROM now() - created_at)::float8,
			extract(epoch FROM deadline_at - now())::float8, $2, retry_count, max_retries) FROM tasks WHERE id = $1`, a.id, behind)
	}
	const near = 0.001
	require.InDelta(t, 0.275, score("", 0), near)
	require.InDelta(t, 0.5, score("priority = 'CRITICAL'", 0), near)
	require.InDelta(t, 0.6, score("priority = 'LOW', created_at = now() - interval '2 hours'", 0), near)
	require.InDelta(t, 0.275+0.15, score("", 25), near)
	require.InDelta(t, 0.225, score("retry_count = 3", 0), near)
	require.InDelta(t, 0.275, score("max_retries = 0", 0), near)
	require.InDelta(t, 0.275+0.15, score("deadline_at = now() - interval '1 minute'", 0), near)
	require.InDelta(t, (0.275+0.15*0.5)*1.25, score("deadline_at = now() + interval '450 seconds'", 0), near)
}

func TestAdmission_Dependencies(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	p := w.project(5)
	first := w.task(p, "")
	second := w.task(p, "")
	w.exec(`DELETE FROM slots WHERE task_id = $1`, second.id)
	w.exec(`INSERT INTO task_dependencies VALUES ($1, $2)`, second.id, first.id)
	w.exec(`UPDATE tasks SET queued_at = now() WHERE id = $1`, second.id)
	w.gate()
	require.False(t, w.holdsSlot(second.id))
	require.Equal(t, "dependency", w.row(second.id, "blocked_reason"))
	require.Equal(t, task.Reason{Code: task.ReasonDependency, Tasks: 1}, w.waits(second.id))

	live := w.running(first)
	w.finish(first, live, 4, task.StatusFailed)
	require.Equal(t, "dependency_failed", w.row(second.id, "blocked_reason"))
	require.False(t, w.holdsSlot(second.id))

	retry := w.command(first.id, contract.CommandRetry, `{}`)
	again := asked{id: first.id, command: retry, run: "second-run"}
	loaded := w.load(again)
	require.True(t, loaded.HoldsSlot)
	require.Equal(t, "dependency", w.row(second.id, "blocked_reason"), "the retry unblocks it")

	live = w.begin(again, loaded.Ordinal+1)
	w.write(again, contract.Projection{Ordinal: loaded.Ordinal + 2, Status: task.StatusAssigned, SandboxID: live.SandboxID})
	w.finish(again, live, loaded.Ordinal+3, task.StatusCompleted)
	require.True(t, w.holdsSlot(second.id))
	require.Empty(t, w.row(second.id, "blocked_reason"))
}

func TestAdmission_Pauses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	p := w.project(5)
	w.exec(`UPDATE projects SET paused = true`)
	a := w.task(p, "")
	require.Equal(t, "paused", w.row(a.id, "blocked_reason"))
	require.Equal(t, task.ReasonProjectPaused, w.waits(a.id).Code)
	w.exec(`UPDATE organizations SET paused = true`)
	w.gate()
	require.Equal(t, task.ReasonOrganizationPaused, w.waits(a.id).Code)
	w.exec(`UPDATE organizations SET paused = false`)
	w.exec(`UPDATE projects SET paused = false`)
	w.gate()
	require.True(t, w.holdsSlot(a.id))
	require.Empty(t, w.row(a.id, "blocked_reason"))
}

func TestAdmission_Autonomy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	p := w.project(5)
	w.exec(`UPDATE projects SET autonomous_execution_enabled = false`)
	asked := w.task(p, "user_requested = true")
	own := w.task(p, "user_requested = false")
	forced := w.task(p, `user_requested = false, execution_config = '{"force_execute": true}'`)
	require.True(t, w.holdsSlot(asked.id))
	require.True(t, w.holdsSlot(forced.id))
	require.False(t, w.holdsSlot(own.id))
	require.Equal(t, task.ReasonAutonomousOff, w.waits(own.id).Code)
	require.Empty(t, w.row(own.id, "blocked_reason"))
}

func TestAdmission_OtherOrganizations(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	other := w
	other.org = task.NewID()
	w.exec(`INSERT INTO organizations (id, name, max_slots) VALUES ($1, 'other', 0)`, other.org)
	mine, theirs := w.task(w.project(1), ""), other.task(other.project(1), "")
	require.True(t, w.holdsSlot(mine.id))
	require.False(t, w.holdsSlot(theirs.id))
	w.exec(`UPDATE organizations SET max_slots = NULL`)
	require.NoError(t, w.store.Grant(t.Context()))
	require.True(t, w.holdsSlot(theirs.id))
}

func TestAdmission_WritesChangesOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	p := w.project(1)
	for range 60 {
		w.task(p, "")
	}
	require.Equal(t, 20, count(t, w.pool, `SELECT count(*) FROM tasks WHERE queue_position IS NOT NULL`))
	versions := func() string {
		return one[string](t, w.pool, `SELECT string_agg(xmin::text, ' ' ORDER BY id) FROM tasks`)
	}
	before := versions()
	w.gate()
	require.Equal(t, before, versions())
}

func TestAdmission_SkipsLockedTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	p := w.project(0)
	locked, free := w.task(p, "priority = 'CRITICAL'"), w.task(p, "")
	tx, err := w.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, err = tx.Exec(t.Context(), `SELECT FROM tasks WHERE id = $1 FOR UPDATE`, locked.id)
	require.NoError(t, err)
	w.exec(`UPDATE projects SET max_slots = 2`)
	w.gate()
	require.False(t, w.holdsSlot(locked.id))
	require.True(t, w.holdsSlot(free.id))
	_, err = tx.Exec(t.Context(), `SELECT omoi_admit_all($1)`, w.org) // the lock holder runs admission itself
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
	require.True(t, w.holdsSlot(locked.id))
}

// Twenty concurrent workers use the store.
func TestAdmission_LimitHoldsConcurrently(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	const limit, tasks = 3, 20
	p := w.project(limit)
	w.exec(`CREATE TABLE high (n bigint)`)
	w.exec(`CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN INSERT INTO high SELECT count(*) FROM slots; RETURN NULL; END $$`)
	w.exec(`CREATE TRIGGER note AFTER INSERT ON slots EXECUTE FUNCTION note()`)
	var all []asked
	for i := range tasks {
		if i%2 == 1 {
			w.exec(`UPDATE projects SET max_slots = 0`)
		}
		all = append(all, w.task(p, ""))
		w.exec(`UPDATE projects SET max_slots = $1`, limit)
	}
	require.NoError(t, w.store.Grant(t.Context()))
	var wait sync.WaitGroup
	failures := make(chan error, tasks)
	for _, a := range all {
		wait.Go(func() { failures <- w.live(a) })
	}
	wait.Wait()
	close(failures)
	for err := range failures {
		require.NoError(t, err)
	}
	require.Equal(t, tasks, count(t, w.pool, `SELECT count(*) FROM tasks WHERE status = 'completed'`))
	require.Zero(t, count(t, w.pool, `SELECT count(*) FROM slots`))
	require.LessOrEqual(t, count(t, w.pool, `SELECT max(n) FROM high`), limit)
}

// live takes a task from loading to its end and waits for the slot as the workflow does.
func (w world) live(a asked) error {
	ctx := w.t.Context()
	loaded, err := w.store.LoadTask(ctx, a.ref(), a.run)
	if err != nil {
		return err
	}
	for holds := loaded.HoldsSlot; !holds; {
		if err := w.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM slots WHERE task_id = $1)`, a.id).Scan(&holds); err != nil {
			return err
		}
	}
	begun, err := w.store.BeginAttempt(ctx, contract.BeginAttemptInput{TaskID: a.id, FirstRunID: a.run, Ordinal: 1, Kind: "first"}, a.run)
	if err != nil {
		return err
	}
	if _, err := w.writeAs(a, contract.Projection{Ordinal: 2, Status: task.StatusAssigned, SandboxID: begun.SandboxID}, a.run, true); err != nil {
		return err
	}
	_, err = w.writeAs(a, contract.Projection{
		Ordinal: 3, Status: task.StatusCompleted, ReleaseSlot: true, Ended: &contract.AttemptEnd{Number: begun.Number, Outcome: "completed"},
	}, a.run, true)
	return err
}
