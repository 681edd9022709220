package omoios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

// source is one read-only snapshot of a database of OmoiOS.
type source struct {
	conn    *pgx.Conn
	tx      pgx.Tx
	columns map[string]map[string]bool // by table
}

// openSource connects to the database and begins the snapshot.
func openSource(ctx context.Context, dsn string) (*source, error) {
	conf, err := pgx.ParseConfig(postgres.PlainURL(dsn))
	if err != nil {
		return nil, task.Invalid("dsn", "Invalid --dsn: expected the address of a database, for example postgres://user@host:5432/omoios.").WithCause(err)
	}
	conf.RuntimeParams["timezone"], conf.RuntimeParams["default_transaction_read_only"] = "UTC", "on"
	conn, err := pgx.ConnectConfig(ctx, conf)
	if err != nil {
		return nil, task.Errorf(task.CodeUnavailable, "Cannot connect to the database of --dsn: %s. Next: try the address with psql", cause(err)).WithCause(err)
	}
	s := &source{conn: conn, columns: map[string]map[string]bool{}}
	if s.tx, err = conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}); err == nil {
		err = s.readColumns(ctx)
	}
	if err != nil {
		return nil, errors.Join(readFailed("tables", err), s.close(ctx))
	}
	return s, s.known()
}

func (s *source) close(ctx context.Context) error { return s.conn.Close(context.WithoutCancel(ctx)) }

func (s *source) readColumns(ctx context.Context) error {
	rows, err := s.tx.Query(ctx, `SELECT c.table_name::text, c.column_name::text FROM information_schema.columns c
		JOIN information_schema.tables t USING (table_schema, table_name)
		WHERE t.table_type = 'BASE TABLE' AND c.table_schema = current_schema()`)
	if err != nil {
		return err
	}
	var table, column string
	_, err = pgx.ForEachRow(rows, []any{&table, &column}, func() error {
		if s.columns[table] == nil {
			s.columns[table] = map[string]bool{}
		}
		s.columns[table][column] = true
		return nil
	})
	return err
}

// known returns an error if the database is not one of OmoiOS.
func (s *source) known() error {
	if s.has("omoi_schema_version", "") || s.has("goose_db_version", "") {
		return task.Invalid("dsn", "The database of --dsn is one of omoi. Next: name the database of OmoiOS")
	}
	for _, table := range []string{"tickets", "tasks"} {
		if !s.has(table, "id") {
			return task.Invalid("dsn", "The database of --dsn has no table %s: it is not one of OmoiOS. Next: name the database of OmoiOS, with its schema (options=-csearch_path=...) unless that is public", table)
		}
	}
	return nil
}

// has reports whether a table has a column, or exists if column is empty.
func (s *source) has(table, column string) bool {
	columns, exists := s.columns[table]
	return exists && (column == "" || columns[column])
}

// col returns a column as an expression of a type. Older versions of OmoiOS lack columns: they are null.
func (s *source) col(table, alias, column, kind string) string {
	if s.has(table, column) {
		return alias + "." + column + "::" + kind
	}
	return "NULL::" + kind
}

// field returns the text of a field of a JSON column, wherever it is in the value, as an expression; null: none, or a text with
// escapes. It reads no JSON: a column of the type json may hold escapes at which that fails.
func field(column, name string) string {
	return `substring(` + column + `::text FROM '"` + name + `"\s*:\s*"([^"\\]+)"')`
}

// list returns expressions for columns, each given as name and type.
func (s *source) list(table, alias string, columns ...string) string {
	out := make([]string, len(columns))
	for n, column := range columns {
		name, kind, _ := strings.Cut(column, " ")
		out[n] = s.col(table, alias, name, kind)
	}
	return strings.Join(out, ", ")
}

// join returns the join of a table whose column id is the expression on; nothing if the table is missing.
func (s *source) join(table, alias, on string) string {
	if !s.has(table, "id") {
		return ""
	}
	return " LEFT JOIN " + table + " " + alias + " ON " + alias + ".id::text = " + on
}

// tables returns all tables but those named.
func (s *source) tables(but ...string) []string {
	var out []string
	for table := range s.columns {
		if !slices.Contains(but, table) {
			out = append(out, table)
		}
	}
	slices.Sort(out)
	return out
}

func (s *source) count(ctx context.Context, table, from string) (n int64, err error) {
	err = s.tx.QueryRow(ctx, "SELECT count(*) FROM "+from).Scan(&n)
	return n, readFailed(table, err)
}

// readFailed returns the error of a failed read of the source.
func readFailed(what string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return task.Errorf(task.CodeUnavailable, "Cannot read %s of OmoiOS: %s. What was imported stays. Next: run the command again, it continues", what, cause(err)).WithCause(err)
}

// cause returns the message of the server, or the last part of the error of a connection.
func cause(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Message
	}
	text := fmt.Sprint(err)
	return strings.TrimSpace(text[strings.LastIndex(text, ": ")+1:])
}
