package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/ingest"
)

// Frames returns the frames of the bus of one type, in the order of its rows.
func Frames(tb testing.TB, pool *pgxpool.Pool, eventType string) (found []ingest.BusEvent) {
	tb.Helper()
	rows, err := pool.Query(tb.Context(), `SELECT event_type, entity_type, entity_id, payload FROM bus_events ORDER BY id`)
	require.NoError(tb, err)
	entries, err := pgx.CollectRows(rows, pgx.RowToStructByPos[ingest.BusEvent])
	require.NoError(tb, err)
	for _, e := range entries {
		for _, f := range ingest.Frames(e) {
			if f.EventType == eventType {
				found = append(found, f)
			}
		}
	}
	return found
}
