package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/migrations"
)

// migrationLock is the key of the advisory lock for changes of the schema.
const migrationLock = 7305461902711 // arbitrary; no other code uses this number

// versionTable lists the applied migrations. Migrations above those of this build are accepted: a newer build has added
// them.
const versionTable = "omoi_schema_version"

// Migration is one migration of the schema.
type Migration struct {
	Version   int64      `json:"version"`
	Name      string     `json:"name"`
	AppliedAt *time.Time `json:"applied_at"` // null: not applied
}

// Migrate applies all migrations and creates the partitions of this and the next month. Concurrent calls wait for each
// other.
func Migrate(ctx context.Context, url string) error {
	return withProvider(ctx, url, func(p *goose.Provider, pool *sql.DB) error {
		if _, err := p.Up(ctx); err != nil {
			return fmt.Errorf("migrate the database: %w", err)
		}
		_, err := pool.ExecContext(ctx, "SELECT omoi_partitions()")
		return translate("create the partitions of events", err)
	})
}

// Status lists all migrations in order, applied or not.
func Status(ctx context.Context, url string) ([]Migration, error) {
	var found []Migration
	err := withProvider(ctx, url, func(p *goose.Provider, _ *sql.DB) error {
		steps, err := p.Status(ctx)
		for _, step := range steps {
			m := Migration{Version: step.Source.Version, Name: step.Source.Path}
			if step.State == goose.StateApplied {
				m.AppliedAt = &step.AppliedAt
			}
			found = append(found, m)
		}
		return translate("read the state of the schema", err)
	})
	return found, err
}

// withProvider runs do with a goose provider on the database at url, holding the lock. A database of an older build is
// an error.
func withProvider(ctx context.Context, url string, do func(*goose.Provider, *sql.DB) error) (err error) {
	conf, err := pgx.ParseConfig(PlainURL(url))
	if err != nil {
		return fmt.Errorf("read the database's address: %w", err)
	}
	pool := stdlib.OpenDB(*conf)
	defer func() { err = errors.Join(err, pool.Close()) }()
	lock, err := lockSchema(ctx, pool)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := notOlder(ctx, pool); err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, pool, migrations.FS, goose.WithTableName(versionTable))
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	return do(provider, pool)
}

// notOlder returns [task.CodeConflict] if an older build created the schema: builds before the baseline recorded
// migrations in the default table of goose, and no migration leads from there to the baseline.
func notOlder(ctx context.Context, pool *sql.DB) error {
	var older bool
	err := pool.QueryRowContext(ctx, "SELECT to_regclass('goose_db_version') IS NOT NULL").Scan(&older)
	if err != nil || !older {
		return translate("read the version of the schema", err)
	}
	return task.Errorf(task.CodeConflict, "An older build of omoi created this database. It cannot be upgraded and stays unchanged. Next: "+
		"set DATABASE_URL to a new database, or start omoi dev with another --home")
}

// lockSchema waits for the lock on a connection of its own. Closing the pool, or the end of this process, releases the
// lock.
func lockSchema(ctx context.Context, pool *sql.DB) (*sql.Conn, error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, translate("connect to the database", err)
	}
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", int64(migrationLock)); err != nil {
		return nil, errors.Join(translate("wait for other migrations", err), conn.Close())
	}
	return conn, nil
}
