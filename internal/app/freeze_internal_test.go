package app

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/sandbox"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

// chiller is a provider whose one sandbox freezes and thaws, unless it fails.
type chiller struct {
	fails  atomic.Bool
	thawed atomic.Int32 // how often it was asked
}

func (c *chiller) Freeze(context.Context, string) (int, error) { return c.answer() }

func (c *chiller) Thaw(context.Context, string) (int, error) {
	c.thawed.Add(1)
	return c.answer()
}

func (c *chiller) answer() (int, error) {
	if c.fails.Load() {
		return 0, errors.New("it does not answer")
	}
	return 1, nil
}

// winter is an omoi dev whose API answers, with a provider that works beside one that fails.
type winter struct {
	*dev
	*core
	*freezer
	works, fails *chiller
	pool         *pgxpool.Pool
}

func newWinter(t *testing.T) *winter {
	t.Helper()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"ready": true}`) }))
	t.Cleanup(api.Close)
	log, pool := slog.New(slog.NewTextHandler(t.Output(), nil)), pgtest.New(t)
	w := &winter{dev: &dev{}, core: &core{log: log, store: postgres.New(pool, postgres.Config{})}, works: &chiller{}, fails: &chiller{}, pool: pool}
	w.info.APIURL = api.URL
	w.fails.fails.Store(true)
	w.freezer = &freezer{providers: map[string]sandbox.Freezer{"works": w.works, "fails": w.fails}}
	return w
}

// counts reports whether time counts: no time of a stop is open.
func (w *winter) counts(t *testing.T) bool {
	t.Helper()
	var open int
	require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT count(*) FROM outages WHERE part = 'frozen' AND until = 'infinity'`).Scan(&open))
	return open == 0
}

// A provider that does not answer keeps no time from counting, and those that did are asked once.
func TestAThawEndsTheTimeOfAStopThoughAProviderFails(t *testing.T) {
	t.Parallel()
	w := newWinter(t)
	require.NoError(t, w.store.NoteFrozen(t.Context()))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.tend(ctx, w.core, w.freezer) }()
	require.Eventually(t, func() bool { return w.fails.thawed.Load() > 1 }, time.Minute, 10*time.Millisecond, "it is asked again")
	require.True(t, w.counts(t))
	require.EqualValues(t, 1, w.works.thawed.Load())
	stop()
	require.NoError(t, <-done)
}

// Agents that nobody froze work: their time counts. The late try may still freeze them, or fail itself.
func TestTheTimeOfAFreezeThatFailsCounts(t *testing.T) {
	t.Parallel()
	w := newWinter(t)
	w.farewell(t.Context(), w.core, w.freezer)
	require.True(t, w.counts(t))
	w.fails.fails.Store(false)
	w.freezeLate(t.Context(), w.core, w.freezer)
	require.False(t, w.counts(t))
	w.fails.fails.Store(true)
	w.freezeLate(t.Context(), w.core, w.freezer)
	require.True(t, w.counts(t))
}

// A note that the database refuses is no freeze whose time does not count: the words say so, and why.
func TestFarewell_DiskOfTheDatabaseIsFull(t *testing.T) {
	t.Parallel()
	w := newWinter(t)
	w.fails.fails.Store(false)
	_, err := w.pool.Exec(t.Context(), `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
		$$BEGIN RAISE EXCEPTION 'No space left on device' USING ERRCODE = '53100'; END$$;
		CREATE TRIGGER full_disk BEFORE INSERT ON outages EXECUTE FUNCTION full_disk()`)
	require.NoError(t, err)
	var said strings.Builder
	w.opts.Progress = func(step string) { said.WriteString(step + "\n") }
	w.farewell(t.Context(), w.core, w.freezer)
	require.True(t, w.counts(t))
	require.Contains(t, said.String(), "2 sandboxes are frozen")
	require.NotContains(t, said.String(), "the time does not count")
	require.Contains(t, said.String(), "the time of this stop counts")
	require.Contains(t, said.String(), "The disk of the database is full")
}
