package postgres_test

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

const sqlTell = `INSERT INTO bus_events (event_type, entity_type, entity_id) VALUES ('X', 'task', $1)`

// busReader reads the bus from its end at the start of the test.
type busReader struct {
	t     *testing.T
	store *postgres.Store
	place ingest.BusPlace
}

func readBus(t *testing.T, pool *pgxpool.Pool) *busReader {
	t.Helper()
	r := &busReader{t: t, store: postgres.New(pool, postgres.Config{})}
	var err error
	r.place, _, err = r.store.BusPlace(t.Context())
	require.NoError(t, err)
	return r
}

// ids returns the new entries since the last call.
func (r *busReader) ids() (ids []string) {
	r.t.Helper()
	who := ingest.BusReader{OrganizationID: "00000000-0000-0000-0000-000000000000", Bare: true}
	events, next, err := r.store.BusEvents(r.t.Context(), who, r.place, 1000)
	require.NoError(r.t, err)
	r.place = next
	for _, e := range events {
		ids = append(ids, e.EntityID)
	}
	return ids
}

// open begins a transaction with a transaction ID.
func open(t *testing.T, pool *pgxpool.Pool) pgx.Tx {
	t.Helper()
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) })
	_, err = tx.Exec(t.Context(), `SELECT pg_current_xact_id()`)
	require.NoError(t, err)
	return tx
}

func tell(t *testing.T, tx pgx.Tx, id string) {
	t.Helper()
	_, err := tx.Exec(t.Context(), sqlTell, id)
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
}

func TestBus_IgnoresWritersOfOtherDatabases(t *testing.T) {
	t.Parallel()
	pool, other := pgtest.New(t), pgtest.New(t)
	open(t, other)
	reader := readBus(t, pool)
	tell(t, open(t, pool), "now")
	require.Equal(t, []string{"now"}, reader.ids())
}

func TestBus_WaitsForEarlierWriters(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	reader := readBus(t, pool)
	first, second, third := open(t, pool), open(t, pool), open(t, pool)
	tell(t, second, "second")
	require.Empty(t, reader.ids(), "the first may still write")
	tell(t, first, "first")
	require.Equal(t, []string{"first", "second"}, reader.ids())
	tell(t, open(t, pool), "fourth")
	require.Empty(t, reader.ids())
	require.NoError(t, third.Rollback(t.Context()))
	require.Equal(t, []string{"fourth"}, reader.ids())
}

// Writers commit in any order while a reader polls.
func TestBus_ReadersMissNoEntry(t *testing.T) {
	t.Parallel()
	const writers, each = 6, 60
	pool := pgtest.New(t)
	reader := readBus(t, pool)
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() { tellMany(t, pool, w, each) })
	}
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	seen := map[string]int{}
	for over := false; !over; {
		select {
		case <-done:
			over = true
		default:
		}
		for _, id := range reader.ids() {
			seen[id]++
		}
	}
	require.Len(t, seen, writers*each)
	for id, times := range seen {
		require.Equal(t, 1, times, id)
	}
}

func tellMany(t *testing.T, pool *pgxpool.Pool, writer, each int) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, uint64(writer)))
	for n := range each {
		err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			for range random.IntN(5) { // some writers take long between ID and commit
				if _, err := tx.Exec(t.Context(), `SELECT pg_current_xact_id()`); err != nil {
					return err
				}
			}
			_, err := tx.Exec(t.Context(), sqlTell, strconv.Itoa(writer)+"-"+strconv.Itoa(n))
			return err
		})
		if err != nil {
			t.Error(err)
			return
		}
	}
}

func TestBus_StatusOfTicketWithConcurrentEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a, b := w.task(w.project(5), ""), task.NewID()
	w.exec(`INSERT INTO tasks (id, organization_id, project_id, ticket_id, title, description, agent, provider)
		SELECT $2, organization_id, project_id, ticket_id, 'b', 'b', agent, provider FROM tasks WHERE id = $1`, a.id, b)
	first := open(t, w.pool)
	_, err := first.Exec(t.Context(), `UPDATE tasks SET status = 'completed' WHERE id = $1`, a.id)
	require.NoError(t, err)
	done := make(chan error)
	go func() {
		_, err := w.pool.Exec(context.WithoutCancel(t.Context()), `UPDATE tasks SET status = 'completed' WHERE id = $1`, b)
		done <- err
	}()
	require.NoError(t, first.Commit(t.Context()))
	require.NoError(t, <-done)
	told := pgtest.Frames(t, w.pool, "TICKET_STATUS_CHANGED")
	require.Equal(t, []string{"ticket", w.row(a.id, "ticket_id")}, []string{told[len(told)-1].EntityType, told[len(told)-1].EntityID})
	require.Equal(t, "done", payloadOf(t, told[len(told)-1])["status"])
}
