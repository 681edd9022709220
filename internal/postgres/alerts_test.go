package postgres_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/postgres"
)

func TestOverdue(t *testing.T) {
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

func TestAlert_IsLoggedWhenRaisedAndCleared(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	w := newWorld(t, postgres.Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
	ctx := t.Context()
	require.NoError(t, w.store.NoAlert(ctx))
	require.NoError(t, w.store.SetAlert(ctx, "unverified", "three are left"))
	require.NoError(t, w.store.SetAlert(ctx, "local h1", "most look orphaned"))
	require.NoError(t, w.store.SetAlert(ctx, "unverified", "four are left"))
	require.ErrorContains(t, w.store.NoAlert(ctx), "four are left; most look orphaned")
	require.Equal(t, 2, strings.Count(log.String(), "level=ERROR"), "new alerts alone: %s", log.String())
	require.NoError(t, w.store.SetAlert(ctx, "unverified", ""))
	require.NoError(t, w.store.SetAlert(ctx, "unverified", ""))
	require.Equal(t, 1, strings.Count(log.String(), `level=INFO msg="alert cleared" source=unverified`))
	w.exec(`UPDATE alerts SET at = now() - interval '2 hours'`)
	require.NoError(t, w.store.NoAlert(ctx), "nobody says it again")
	for range 2 {
		require.NoError(t, w.store.SetAlert(ctx, "local h1", "most look orphaned"))
	}
	require.Equal(t, 3, strings.Count(log.String(), "level=ERROR"), "an alert that was over is new: %s", log.String())
}
