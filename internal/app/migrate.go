package app

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/devstack"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

// Step is one migration of the schema.
type Step = postgres.Migration

// Migration changes or reads the schema and returns its steps afterwards.
type Migration func(ctx context.Context, cfg *config.Loaded) ([]Step, error)

// MigrateUp applies all pending migrations.
func MigrateUp(ctx context.Context, cfg *config.Loaded) ([]Step, error) {
	url, err := databaseURL(cfg)
	if err != nil {
		return nil, err
	}
	if err := postgres.Migrate(ctx, url); err != nil {
		return nil, err
	}
	return MigrateStatus(ctx, cfg)
}

// MigrateStatus returns the migrations without applying any.
func MigrateStatus(ctx context.Context, cfg *config.Loaded) ([]Step, error) {
	url, err := databaseURL(cfg)
	if err != nil {
		return nil, err
	}
	return postgres.Status(ctx, url)
}

// outdated reports whether the schema is older than this binary.
func outdated(steps []Step) bool {
	return slices.ContainsFunc(steps, func(s Step) bool { return s.AppliedAt == nil })
}

// databaseURL returns the configured database, else that of a running omoi dev.
func databaseURL(cfg *config.Loaded) (string, error) {
	if cfg.Database.URL != "" {
		return cfg.Database.URL.Reveal(), nil
	}
	if info, err := devstack.ReadInfo(cfg.Home); err == nil && info.DatabaseURL != "" {
		return info.DatabaseURL, nil
	}
	return "", task.Errorf(task.CodeUnavailable, "No database configured. Next: set DATABASE_URL, or start omoi dev")
}

// notForeign returns an error if a database has tables, but not those of omoi. DATABASE_URL is a common name, so a .env
// file of the working directory may refer to the database of another program.
func notForeign(ctx context.Context, url string) (err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return task.Errorf(task.CodeUnavailable, "The database of DATABASE_URL does not answer").WithCause(err)
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	var foreign bool
	err = conn.QueryRow(ctx, `SELECT coalesce(to_regclass('omoi_schema_version'), to_regclass('goose_db_version')) IS NULL
		AND EXISTS (SELECT FROM pg_tables WHERE schemaname = current_schema())`).Scan(&foreign)
	if err != nil {
		return fmt.Errorf("read the database: %w", err)
	}
	if foreign {
		return task.Errorf(task.CodeConflict, "The database of DATABASE_URL contains tables that omoi did not create. Next: "+
			"use an empty database, or unset DATABASE_URL to let omoi dev start its own")
	}
	return nil
}
