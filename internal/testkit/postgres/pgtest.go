package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/migrations"
)

// EnvURL names the variable with the address of a server to use instead of a private one.
const EnvURL = "OMOI_TEST_DATABASE_URL"

// shared is the server of this process, found or started once.
var shared = sync.OnceValues(func() (server, error) { //nolint:gochecknoglobals // one a process is the point
	if given := os.Getenv(EnvURL); given != "" {
		return server{address: postgres.PlainURL(given)}, nil
	}
	return start()
})

// template is the name of the migrated database that all others are copies of.
var template = sync.OnceValues(func() (string, error) { //nolint:gochecknoglobals // one a process is the point
	s, err := shared()
	if err != nil {
		return "", err
	}
	return makeTemplate(context.Background(), s.address)
})

// New returns a pool on a fresh, migrated database that is dropped when the test ends. It
// skips the test, and says so, where there is no PostgreSQL.
func New(tb testing.TB) *pgxpool.Pool {
	tb.Helper()
	return Connect(tb, URL(tb))
}

// URL returns the address of a fresh, migrated database that is dropped when the test ends.
func URL(tb testing.TB) string {
	tb.Helper()
	server := need(tb)
	source, err := template()
	require.NoError(tb, err, "make the template database")
	return create(tb, server, source)
}

// EmptyURL is [URL] for a database without any schema.
func EmptyURL(tb testing.TB) string {
	tb.Helper()
	return create(tb, need(tb), "template0")
}

func need(tb testing.TB) string {
	tb.Helper()
	s, err := shared()
	if errors.Is(err, errNone) {
		tb.Skipf("SKIPPED: no PostgreSQL found in PATH or /usr/lib/postgresql/*/bin, and %s is not set", EnvURL)
	}
	require.NoError(tb, err, "start PostgreSQL")
	return s.address
}

// Connect returns a pool on a database of this package that is closed when the test ends.
func Connect(tb testing.TB, address string) *pgxpool.Pool {
	tb.Helper()
	pool, err := postgres.Connect(tb.Context(), address)
	require.NoError(tb, err)
	tb.Cleanup(pool.Close)
	return pool
}

func create(tb testing.TB, server, source string) string {
	tb.Helper()
	name := "omoi_test_" + strings.ReplaceAll(task.NewID(), "-", "")
	require.NoError(tb, execute(tb.Context(), server, "CREATE DATABASE "+name+" TEMPLATE "+source))
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := execute(ctx, server, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			tb.Logf("drop the test's database: %v", err)
		}
	})
	return inDatabase(server, name)
}

// makeTemplate makes the template if this server does not have it yet. Its name carries
// the hash of the migrations and the month, whose partitions it has.
func makeTemplate(ctx context.Context, server string) (string, error) {
	hash, err := hashMigrations()
	if err != nil {
		return "", err
	}
	name := "omoi_template_" + hash
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock(hashtext('omoi_template'))"); err != nil {
		return "", err
	}
	var exists bool
	err = conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&exists)
	if err != nil || exists {
		return name, err
	}
	return name, fillTemplate(ctx, conn, server, name)
}

// fillTemplate migrates under another name first, so that a template is whole or absent.
func fillTemplate(ctx context.Context, conn *pgx.Conn, server, name string) error {
	draft := name + "_draft"
	for _, statement := range []string{
		"DROP DATABASE IF EXISTS " + draft + " WITH (FORCE)",
		"CREATE DATABASE " + draft + " TEMPLATE template0",
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	if err := postgres.Migrate(ctx, inDatabase(server, draft)); err != nil {
		return err
	}
	_, err := conn.Exec(ctx, "ALTER DATABASE "+draft+" RENAME TO "+name)
	return err
}

func hashMigrations() (string, error) {
	const length = 12
	h := sha256.New()
	err := fs.WalkDir(migrations.FS, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(migrations.FS, path)
		fmt.Fprintf(h, "%s %d\n%s", path, len(content), content)
		return err
	})
	return time.Now().UTC().Format("200601_") + hex.EncodeToString(h.Sum(nil))[:length], err
}

func execute(ctx context.Context, server, statement string) error {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	_, err = conn.Exec(ctx, statement)
	return err
}

func inDatabase(server, name string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server
	}
	u.Path = "/" + name
	return u.String()
}
