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

// chiller is a provider with one sandbox that freezes and thaws, unless fails is set.
type chiller struct {
	fails  atomic.Bool
	thawed atomic.Int32 // number of calls
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

// winter is an omoi dev with a ready API, one working provider and one that fails.
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

// counts reports whether clocks count: no freeze is recorded.
func (w *winter) counts(t *testing.T) bool {
	t.Helper()
	var open int
	require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT count(*) FROM outages WHERE part = 'frozen' AND until = 'infinity' AND since <= now()`).Scan(&open))
	return open == 0
}

// A failing provider does not keep time from counting. Providers that succeeded are called once.
func TestThaw_FailedProviderKeepsTimeCounting(t *testing.T) {
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

// Agents that were not frozen keep working, so their time counts. The late freeze may succeed or fail.
func TestFreeze_TimeCountsAfterFailure(t *testing.T) {
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

// If the database rejects the freeze record, that of an omoi dev that was killed applies.
func TestFarewell_DiskOfTheDatabaseIsFull(t *testing.T) {
	t.Parallel()
	w := newWinter(t)
	w.fails.fails.Store(false)
	require.NoError(t, w.store.KeepThawed(t.Context()))
	_, err := w.pool.Exec(t.Context(), `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
		$$BEGIN RAISE EXCEPTION 'No space left on device' USING ERRCODE = '53100'; END$$;
		CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON outages EXECUTE FUNCTION full_disk()`)
	require.NoError(t, err)
	var said strings.Builder
	w.opts.Progress = func(step string) { said.WriteString(step + "\n") }
	w.farewell(t.Context(), w.core, w.freezer)
	require.Contains(t, said.String(), "2 sandboxes are frozen")
	require.True(t, w.counts(t), "not yet")
	_, err = w.pool.Exec(t.Context(), `DROP TRIGGER full_disk ON outages; UPDATE outages SET since = since - interval '1 minute'`)
	require.NoError(t, err)
	require.False(t, w.counts(t))
}
