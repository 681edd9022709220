package ingest_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("os/exec.(*Cmd).Start.func2"))
}

// bench is one database and the store on it.
type bench struct {
	t     testing.TB
	pool  *pgxpool.Pool
	store *postgres.Store
}

func setup(tb testing.TB) *bench {
	tb.Helper()
	pool := pgtest.New(tb)
	return &bench{t: tb, pool: pool, store: storeOn(tb, pool)}
}

// storeOn is a store as a process has it.
func storeOn(tb testing.TB, pool *pgxpool.Pool) *postgres.Store {
	tb.Helper()
	s := postgres.New(pool, postgres.Config{})
	tb.Cleanup(s.Close)
	return s
}

func (b *bench) exec(sql string, args ...any) {
	b.t.Helper()
	_, err := b.pool.Exec(b.t.Context(), sql, args...)
	require.NoError(b.t, err)
}

// one reads a single value.
func one[T any](b *bench, sql string, args ...any) T {
	b.t.Helper()
	var value T
	require.NoError(b.t, b.pool.QueryRow(b.t.Context(), sql, args...).Scan(&value))
	return value
}

// intake is another process's intake on the database; it stops with the test.
func (b *bench) intake(cfg ingest.IntakeConfig, bus ingest.Bus) *ingest.Intake {
	b.t.Helper()
	if bus == nil {
		bus = live.New()
	}
	cfg.Meter = unmetered{}
	intake := ingest.NewIntake(cfg, storeOn(b.t, b.pool), bus, quiet())
	run(b.t, intake.Run)
	return intake
}

// unmetered counts nothing.
type unmetered struct{}

func (unmetered) Committed(int, int, int, time.Duration) {}
func (unmetered) Waited(time.Duration)                   {}
func (unmetered) TurnedAway()                            {}
func (unmetered) Lost(int)                               {}
func (unmetered) CheckpointFailed(string)                {}
func (unmetered) Sent(string)                            {}
func (unmetered) Failed(string)                          {}
func (unmetered) Dropped(string)                         {}

// quiet discards what is logged.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// run runs a part until the test ends, and then waits for it.
func run(tb testing.TB, part func(context.Context) error) (stop func()) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- part(ctx) }()
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			cancel()
			require.NoError(tb, <-done)
		}
	}
	tb.Cleanup(stop)
	return stop
}

// task makes a task and answers its id.
func (b *bench) task() string {
	b.t.Helper()
	id := task.NewID()
	b.exec(`INSERT INTO organizations (id, name) VALUES ($1::uuid, 'o ' || $1::uuid)`, id)
	b.exec(`INSERT INTO projects (id, organization_id, name) VALUES ($1, $1, 'p')`, id)
	b.exec(`INSERT INTO tickets (id, project_id, title) VALUES ($1, $1, 't')`, id)
	b.exec(`INSERT INTO tasks (id, organization_id, project_id, ticket_id, title, description, agent, provider)
		VALUES ($1, $1, $1, $1, 'Title', 'd', 'external', 'external')`, id)
	b.exec(`INSERT INTO task_outbox (task_id) VALUES ($1)`, id)
	return id
}

// attempt gives a task a sandbox, as BeginAttempt does.
func (b *bench) attempt(taskID string, number int) string {
	b.t.Helper()
	id := task.NewSandboxID()
	b.exec(`INSERT INTO sandboxes (id, task_id, attempt, provider, machine, state)
		VALUES ($1, $2, $3, 'external', false, 'running')`, id, taskID, number)
	b.exec(`UPDATE task_outbox SET sandbox_id = $1 WHERE task_id = $2`, id, taskID)
	return id
}

// sandbox is a sandbox of a task of its own.
func (b *bench) sandbox() string { return b.attempt(b.task(), 1) }

// stored are all events of a sandbox, oldest first.
func (b *bench) stored(sandboxID string) []ingest.StoredEvent {
	b.t.Helper()
	const all = 100_000
	events, err := b.store.EventsAfter(b.t.Context(), sandboxID, 0, all)
	require.NoError(b.t, err)
	return events
}

// contiguous fails unless the sequences of a sandbox are 1..n and its row says so.
func (b *bench) contiguous(sandboxID string, n int) {
	b.t.Helper()
	events := b.stored(sandboxID)
	require.Len(b.t, events, n)
	for i, e := range events {
		require.Equal(b.t, int64(i+1), e.Sequence)
	}
	require.Equal(b.t, int64(n), one[int64](b, `SELECT last_sequence FROM sandboxes WHERE id = $1`, sandboxID))
}

func newEvent(eventType string) ingest.Event {
	return ingest.Event{Type: eventType, Data: json.RawMessage(`{"turn": 1}`)}
}

func events(n int) []ingest.Event {
	list := make([]ingest.Event, n)
	for i := range list {
		list[i] = newEvent(event.AgentToolUse)
	}
	return list
}

func within(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	tb.Cleanup(cancel)
	return ctx
}
