package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/postgres"
)

func TestOverdueAreThoseThatNobodySawGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	for _, edit := range []string{
		`ended_at = now() - interval '2 hours'`,
		`ended_at = now() - interval '2 hours', state = 'gone', gone_at = now()`,
		`ended_at = now() - interval '2 hours', verified_at = now()`,
		`ended_at = now() - interval '2 hours', state = 'lost'`,
		`ended_at = now() - interval '2 minutes'`,
		`created_at = now() - interval '2 hours'`,
	} {
		_, id := w.box("local")
		w.exec(`UPDATE sandboxes SET ` + edit + ` WHERE id = '` + id + `'`)
	}
	n, oldest, err := w.store.Overdue(t.Context(), time.Hour)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.InDelta(t, 2*time.Hour, oldest, float64(time.Minute))
}

func TestAlarmsStandUntilTheyAreTakenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	ctx := t.Context()
	require.NoError(t, w.store.NoAlarm(ctx))
	require.NoError(t, w.store.SetAlarm(ctx, "unverified", "three are left"))
	require.NoError(t, w.store.SetAlarm(ctx, "local h1", "most look orphaned"))
	require.NoError(t, w.store.SetAlarm(ctx, "unverified", "four are left"))
	require.ErrorContains(t, w.store.NoAlarm(ctx), "four are left; most look orphaned")
	require.NoError(t, w.store.SetAlarm(ctx, "unverified", ""))
	w.exec(`UPDATE alerts SET at = now() - interval '2 hours'`)
	require.NoError(t, w.store.NoAlarm(ctx), "nobody says it again")
}
