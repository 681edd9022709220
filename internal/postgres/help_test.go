package postgres_test

import (
	"cmp"
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

func count(tb testing.TB, pool *pgxpool.Pool, query string, args ...any) int {
	tb.Helper()
	return one[int](tb, pool, query, args...)
}

// one reads a single value.
func one[T any](tb testing.TB, pool *pgxpool.Pool, query string, args ...any) T {
	tb.Helper()
	var value T
	require.NoError(tb, pool.QueryRow(tb.Context(), query, args...).Scan(&value))
	return value
}

func exec(tb testing.TB, pool *pgxpool.Pool, statement string, args ...any) {
	tb.Helper()
	_, err := pool.Exec(tb.Context(), statement, args...)
	require.NoError(tb, err)
}

// world is a store with one organization.
type world struct {
	t     testing.TB
	pool  *pgxpool.Pool
	store *postgres.Store
	org   string
}

func newWorld(tb testing.TB, cfg postgres.Config) world {
	tb.Helper()
	// otherwise attempts would wait for sandboxes that no workflow cleans up
	cfg.Settings.CleanupWait = cmp.Or(cfg.Settings.CleanupWait, time.Nanosecond)
	pool := pgtest.New(tb)
	w := world{t: tb, pool: pool, store: postgres.New(pool, cfg), org: task.NewID()}
	w.exec(`INSERT INTO organizations (id, name) VALUES ($1, 'org')`, w.org)
	return w
}

func (w world) exec(statement string, args ...any) {
	w.t.Helper()
	exec(w.t, w.pool, statement, args...)
}

// project creates a project with a concurrency limit.
func (w world) project(slots int) string {
	w.t.Helper()
	id := task.NewID()
	w.exec(`INSERT INTO projects (id, organization_id, name, repo, max_slots) VALUES ($1, $2, 'p' || gen_random_uuid(), 'o/r' || gen_random_uuid(), $3)`, id, w.org, slots)
	return id
}

// asked is an accepted task: its row and its start command.
type asked struct {
	id      string
	command string
	run     string // ID of its first run
}

// ref returns the reference of the task's first run.
func (a asked) ref() contract.TaskRef {
	return contract.TaskRef{TaskID: a.id, FirstRunID: a.run, CommandID: a.command}
}

// task accepts a task as the API does: row, start command, request for a slot, admission. edit is SQL that changes the
// row before admission; empty: none.
func (w world) task(project, edit string) asked {
	w.t.Helper()
	a := asked{id: task.NewID(), command: task.NewID(), run: "run-" + task.NewSandboxID()}
	ticket := task.NewID()
	w.exec(`INSERT INTO tickets (id, project_id, title) VALUES ($1, $2, 'ticket')`, ticket, project)
	w.exec(`INSERT INTO tasks (id, organization_id, project_id, ticket_id, title, description, agent, provider, queued_at)
		VALUES ($1, $2, $3, $4, 'title', 'text', 'scripted', 'external', now())`, a.id, w.org, project, ticket)
	if edit != "" {
		w.exec(`UPDATE tasks SET `+edit+` WHERE id = $1`, a.id)
	}
	w.exec(`INSERT INTO commands (id, task_id, kind) VALUES ($1, $2, 'start')`, a.command, a.id)
	// the admission of a parallel test may have admitted the task
	w.exec(`INSERT INTO task_outbox (task_id, due_at) VALUES ($1, now()) ON CONFLICT (task_id) DO UPDATE SET due_at = now()`, a.id)
	w.gate()
	return a
}

func (w world) gate() { require.NoError(w.t, w.store.AdmitAll(w.t.Context(), w.org)) }

// command adds a command of a task.
func (w world) command(taskID, kind, args string) string {
	w.t.Helper()
	id := task.NewID()
	w.exec(`INSERT INTO commands (id, task_id, kind, args) VALUES ($1, $2, $3, $4)`, id, taskID, kind, args)
	return id
}

// load loads a task in its first run, which must succeed.
func (w world) load(a asked) contract.LoadedTask {
	w.t.Helper()
	loaded := w.loadAs(a.ref(), a.run)
	require.Empty(w.t, loaded.Settled)
	require.False(w.t, loaded.Lost)
	return loaded
}

func (w world) loadAs(ref contract.TaskRef, runID string) contract.LoadedTask {
	w.t.Helper()
	loaded, err := w.store.LoadTask(w.t.Context(), ref, runID)
	require.NoError(w.t, err)
	return loaded
}

// begin begins an attempt, which must find room.
func (w world) begin(a asked, ordinal int64) contract.LiveAttempt {
	w.t.Helper()
	begun, err := w.store.BeginAttempt(w.t.Context(), contract.BeginAttemptInput{
		TaskID: a.id, FirstRunID: a.run, Ordinal: ordinal, Kind: "first",
	}, a.run)
	require.NoError(w.t, err)
	require.False(w.t, begun.Fenced)
	require.Zero(w.t, begun.Wait, begun.Reason)
	return begun.LiveAttempt
}

// write saves a projection as the task's first run, which must not be fenced.
func (w world) write(a asked, p contract.Projection) contract.Projected {
	w.t.Helper()
	answer, err := w.writeAs(a, p, a.run, true)
	require.NoError(w.t, err)
	require.False(w.t, answer.Fenced)
	return answer
}

// writeAs saves a projection as a run that is current or not.
func (w world) writeAs(a asked, p contract.Projection, runID string, current bool) (contract.Projected, error) {
	w.t.Helper()
	p.TaskID = a.id
	if p.FirstRunID == "" {
		p.FirstRunID = a.run
	}
	return w.store.SaveTaskState(w.t.Context(), p, runID, func(context.Context) (bool, error) { return current, nil })
}

// running brings a task to a running attempt.
func (w world) running(a asked) contract.LiveAttempt {
	w.t.Helper()
	loaded := w.load(a)
	live := w.begin(a, loaded.Ordinal+1)
	w.write(a, contract.Projection{Ordinal: loaded.Ordinal + 2, Status: task.StatusAssigned, SandboxID: live.SandboxID})
	w.write(a, contract.Projection{Ordinal: loaded.Ordinal + 3, Status: task.StatusRunning, SandboxID: live.SandboxID})
	return live
}

// finish ends a task with its running attempt.
func (w world) finish(a asked, live contract.LiveAttempt, ordinal int64, status task.Status) {
	w.t.Helper()
	p := contract.Projection{
		Ordinal: ordinal, Status: status, ReleaseSlot: true, Reason: "the reason",
		Ended: &contract.AttemptEnd{Number: live.Number, Outcome: string(status)},
	}
	if status == task.StatusFailed {
		p.Class = task.ClassAgentError
	}
	w.write(a, p)
}

// event stores an event of a sandbox as ingest does.
func (w world) event(sandboxID, eventType, data string) {
	w.t.Helper()
	w.exec(`WITH moved AS (UPDATE sandboxes SET last_sequence = last_sequence + 1, last_event_at = now() WHERE id = $1 RETURNING last_sequence, partition_month)
		INSERT INTO sandbox_events (sandbox_id, sequence, partition_month, event_type, event_data)
		SELECT $1, last_sequence, partition_month, $2, $3 FROM moved`, sandboxID, eventType, data)
}

// row reads a column of a task as text; null is empty.
func (w world) row(taskID, column string) string {
	w.t.Helper()
	return one[string](w.t, w.pool, `SELECT coalesce(`+column+`::text, '') FROM tasks WHERE id = $1`, taskID)
}

// waits returns why a task is queued.
func (w world) waits(taskID string) task.Reason {
	w.t.Helper()
	return task.ParseReason(w.row(taskID, "queue_reason"))
}

// awaits returns what an admitted task waits for.
func (w world) awaits(taskID string) task.Reason {
	w.t.Helper()
	return task.ParseReason(w.row(taskID, "waiting"))
}

func (w world) holdsSlot(taskID string) bool {
	w.t.Helper()
	return one[bool](w.t, w.pool, `SELECT EXISTS (SELECT FROM slots WHERE task_id = $1)`, taskID)
}

func (w world) receipt(commandID string) string {
	w.t.Helper()
	return one[string](w.t, w.pool, `SELECT state FROM commands WHERE id = $1`, commandID)
}
