package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/omoi-dev/omoi/internal/task"
)

// notForeign refuses a database that holds tables and none of ours: DATABASE_URL is a
// common name, and a .env file of the working directory may mean another program's.
func notForeign(ctx context.Context, url string) (err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return task.Errorf(task.CodeUnavailable, "the database of DATABASE_URL does not answer").WithCause(err)
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	var foreign bool
	err = conn.QueryRow(ctx, `SELECT coalesce(to_regclass('omoi_schema_version'), to_regclass('goose_db_version')) IS NULL
		AND EXISTS (SELECT FROM pg_tables WHERE schemaname = current_schema())`).Scan(&foreign)
	if err != nil {
		return fmt.Errorf("look into the database: %w", err)
	}
	if foreign {
		return task.Errorf(task.CodeConflict, "the database of DATABASE_URL holds tables that are not omoi's; "+
			"name an empty one, or unset DATABASE_URL to let omoi dev start its own")
	}
	return nil
}
