package app

import (
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/devstack"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/wait"
)

// prompt is a provider that freezes its sandbox if the context has time left.
type prompt struct{ chiller }

func (*prompt) Freeze(ctx context.Context, _ string) (int, error) { return 1, ctx.Err() }

// hungStore returns a store whose database accepts connections and never answers.
func hungStore(t *testing.T) *postgres.Store {
	t.Helper()
	cfg, err := pgxpool.ParseConfig("postgres://omoi@127.0.0.1/omoi?sslmode=disable")
	require.NoError(t, err)
	cfg.ConnConfig.DialFunc = func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, there) }()
		return here, nil
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return postgres.New(pool, postgres.Config{})
}

// hung returns an omoi dev whose database does not answer, with its output.
func hung(t *testing.T) (d *dev, c *core, said *strings.Builder) {
	t.Helper()
	loaded, err := config.Load(config.Source{})
	require.NoError(t, err)
	said = &strings.Builder{}
	d = &dev{cfg: loaded, opts: Options{Progress: func(step string) { said.WriteString(step + "\n") }}}
	return d, &core{log: slog.New(slog.NewTextHandler(t.Output(), nil)), store: hungStore(t)}, said
}

// A database that does not answer does not prevent the freeze.
func TestFarewell_DatabaseDoesNotAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, c, said := hung(t)
		f := &freezer{providers: map[string]sandbox.Freezer{"local": &prompt{}}}
		d.farewell(t.Context(), c, f)
		require.Contains(t, said.String(), "1 sandbox is frozen")
		require.NotContains(t, said.String(), "keep running")
	})
}

// A shutdown ends within 10 seconds even if all parts hang.
func TestStop_AllPartsHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, c, _ := hung(t)
		f := &freezer{providers: map[string]sandbox.Freezer{"local": &prompt{}}}
		forever, done := context.WithTimeout(t.Context(), time.Minute)
		defer done()
		ctx, stop := context.WithCancel(t.Context())
		stop()
		asked := time.Now()
		limit, cancel := wait.Outlast(ctx, servicesTime+lateTime)
		defer cancel()
		err := d.serve(ctx, c, f, service{"relay", func(context.Context) error { <-forever.Done(); return nil }})
		require.ErrorContains(t, within(limit, func() error { <-forever.Done(); return nil }), "did not end")
		require.LessOrEqual(t, time.Since(asked)+devstack.StopGrace, 10*time.Second)
		require.ErrorContains(t, err, "relay")
		require.ErrorContains(t, err, "Next: ")
		done()
	})
}
