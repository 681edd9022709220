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
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

const sqlTell = `INSERT INTO bus_events (event_type, entity_type, entity_id) VALUES ('X', 'task', $1)`

// busReader reads the bus from where it was when the test began.
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

// ids are what came since the last look.
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

// open begins a transaction that has a number.
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

func TestAWriterOfAnotherDatabaseDoesNotHoldTheBusBack(t *testing.T) {
	t.Parallel()
	pool, other := pgtest.New(t), pgtest.New(t)
	open(t, other)
	reader := readBus(t, pool)
	tell(t, open(t, pool), "now")
	require.Equal(t, []string{"now"}, reader.ids())
}

func TestTheBusWaitsForOlderWritersOfItsOwnDatabase(t *testing.T) {
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

// TestReadersOfTheBusMissNoWriter has writers who end in any order while somebody looks without pause.
func TestReadersOfTheBusMissNoWriter(t *testing.T) {
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
			for range random.IntN(5) { // some take long from their number to their end
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
