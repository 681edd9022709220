package postgres_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

const message = "agent.message"

// fill moves the newest number of a sandbox on to head, and stores a message at each of the numbers.
func fill(t *testing.T, pool *pgxpool.Pool, box string, head int64, messages ...int64) {
	t.Helper()
	exec(t, pool, `INSERT INTO sandboxes (id, provider, state, last_sequence) VALUES ($1, 'bare', 'running', $2)
		ON CONFLICT (id) DO UPDATE SET last_sequence = excluded.last_sequence`, box, head)
	exec(t, pool, `INSERT INTO sandbox_events (sandbox_id, sequence, partition_month, event_type, event_data)
		SELECT s.id, n, s.partition_month, $2, '{}' FROM sandboxes s, unnest($3::bigint[]) AS n WHERE s.id = $1`, box, message, messages)
}

// messages are those that a page of 100 shows, from the newest number on.
func messages(t *testing.T, store *postgres.Store, box string) (found []int64) {
	t.Helper()
	page, err := store.Events(t.Context(), ingest.EventQuery{SandboxID: box, Type: message, Limit: 100})
	require.NoError(t, err)
	for _, e := range page.Events {
		found = append(found, e.Sequence)
	}
	require.Equal(t, int64(len(found)), page.Total)
	return found
}

// A reader of an earlier build counts without places, and writes down any number.
func TestCountsWithoutPlacesAreMadeAgain(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	store := postgres.New(pool, postgres.Config{})
	fill(t, pool, "old", 2500, 500, 1300, 1999, 2400)
	exec(t, pool, `INSERT INTO event_counts (sandbox_id, up_to_sequence, types) VALUES ('old', 1234, '{"agent.message": [1, 500, 500]}')`)
	require.Equal(t, []int64{2400, 1999, 1300, 500}, messages(t, store, "old"))
	fill(t, pool, "old", 3600, 2700)
	for _, upto := range []int{2600, 3000} { // it goes on from where the new one stopped
		exec(t, pool, `UPDATE event_counts SET up_to_sequence = $1, types = '{"agent.message": [5, 500, 2700]}'`, upto)
		require.Equal(t, []int64{2700, 2400, 1999, 1300, 500}, messages(t, store, "old"), upto)
	}
	require.Equal(t, "3000 3000", one[string](t, pool, `SELECT up_to_sequence || ' ' || placed FROM event_counts`))
}

func TestNoPlaceIsShownTwiceWhileAnotherReaderMakesABlock(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	store := postgres.New(pool, postgres.Config{})
	fill(t, pool, "two", 1700, 500, 1000, 1300, 1600)
	found, err := store.PlacesWhile(t.Context(), "two", message, 10, func() {
		fill(t, pool, "two", 2100, 2000)
		require.Len(t, messages(t, store, "two"), 5)
	})
	require.NoError(t, err)
	require.Equal(t, []int64{500, 1000, 1300, 1600}, found)
}

// What a reader has counted stays counted where it cannot go on.
func TestALongSandboxIsCountedStepByStep(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	store := postgres.New(pool, postgres.Config{})
	fill(t, pool, "long", 250_100, 7, 99_000, 150_000, 249_999, 250_050)
	exec(t, pool, `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no more'; END $$`)
	exec(t, pool, `CREATE TRIGGER fails BEFORE INSERT ON event_type_index FOR EACH ROW WHEN (NEW.block >= 100) EXECUTE FUNCTION fail()`)
	_, err := store.EventCounts(t.Context(), "long")
	require.Error(t, err)
	require.Equal(t, 100_000, count(t, pool, `SELECT up_to_sequence FROM event_counts`))
	exec(t, pool, `DROP TRIGGER fails ON event_type_index`)
	require.Equal(t, []int64{250_050, 249_999, 150_000, 99_000, 7}, messages(t, store, "long"))
	require.Equal(t, 250_000, count(t, pool, `SELECT up_to_sequence FROM event_counts`))
}

// Readers that come at once do not all do the same.
func TestBlocksAreMadeByOneReader(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	store := postgres.New(pgtest.Connect(t, pool.Config().ConnString()), postgres.Config{})
	fill(t, pool, "many", 2000, 5)
	exec(t, pool, `CREATE SEQUENCE made`)
	exec(t, pool, `CREATE FUNCTION made() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('made'); RETURN NULL; END $$`)
	exec(t, pool, `CREATE TRIGGER made AFTER INSERT ON event_type_index FOR EACH STATEMENT EXECUTE FUNCTION made()`)
	gate, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = gate.Rollback(t.Context()) }()
	_, err = gate.Exec(t.Context(), `LOCK TABLE event_type_index IN EXCLUSIVE MODE`)
	require.NoError(t, err)
	const readers = 3
	done := make(chan error, readers)
	for range readers {
		go func() {
			_, err := store.EventCounts(t.Context(), "many")
			done <- err
		}()
	}
	require.Eventually(t, func() bool {
		return count(t, pool, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) == readers
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, gate.Rollback(t.Context()))
	for range readers {
		require.NoError(t, <-done)
	}
	require.Equal(t, 1, count(t, pool, `SELECT last_value FROM made WHERE is_called`))
}
