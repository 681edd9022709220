// Package schemadoc writes docs/SCHEMA.md from the catalog of a migrated database and from the code that writes its tables.
package schemadoc

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

const intro = `# Database schema

Made by ` + "`make generate`" + ` from the catalog of the database; do not edit. The sources are the migrations in ` + "`migrations/`" + `.
Times are ` + "`timestamptz`" + `. "Written by" names files of ` + "`internal/postgres`" + ` and functions of the database.
`

type column struct {
	Table, Name, Type string
	Null              bool
	Comment           string
}

const sqlTables = `SELECT relname::text, coalesce(obj_description(oid), '') FROM pg_class
	WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v') AND NOT relispartition AND relname <> 'omoi_schema_version'`

const sqlColumns = `SELECT c.relname::text, a.attname::text, format_type(a.atttypid, a.atttypmod), NOT a.attnotnull, coalesce(col_description(c.oid, a.attnum), '')
	FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
	WHERE c.relnamespace = 'public'::regnamespace ORDER BY c.relname, a.attnum`

const sqlFunctions = `SELECT proname::text, prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace`

// Sources are the texts that the page is made of besides the catalog.
type Sources struct {
	Migrations fs.FS // *.sql: the order of tables, and the headings of their groups
	Store      fs.FS // *.go and queries/*.sql: who writes a table
}

// Markdown returns the page.
func Markdown(ctx context.Context, conn *pgx.Conn, from Sources) (string, error) {
	tables, err := pairs(ctx, conn, sqlTables)
	if err != nil {
		return "", err
	}
	rows, err := conn.Query(ctx, sqlColumns)
	if err != nil {
		return "", fmt.Errorf("read columns: %w", err)
	}
	columns, err := pgx.CollectRows(rows, pgx.RowToStructByPos[column])
	if err != nil {
		return "", fmt.Errorf("read columns: %w", err)
	}
	functions, err := pairs(ctx, conn, sqlFunctions)
	if err != nil {
		return "", err
	}
	writers, err := writersOf(from.Store, functions)
	if err != nil {
		return "", err
	}
	return page(from.Migrations, tables, columns, writers)
}

// pairs reads two columns of text as a map.
func pairs(ctx context.Context, conn *pgx.Conn, query string) (map[string]string, error) {
	found := map[string]string{}
	rows, err := conn.Query(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	var name, text string
	_, err = pgx.ForEachRow(rows, []any{&name, &text}, func() error {
		found[name] = text
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	return found, nil
}

// outline matches the heading of a group, and the name of a table or view.
var outline = regexp.MustCompile(`(?m)^-- -{20,}\n-- (.+)$|^CREATE (?:TABLE|VIEW) (\w+)`)

func page(steps fs.FS, tables map[string]string, columns []column, writers map[string][]string) (string, error) {
	names, err := fs.Glob(steps, "*.sql")
	if err != nil {
		return "", fmt.Errorf("list migrations: %w", err)
	}
	var out strings.Builder
	out.WriteString(intro)
	heading, groups := "", map[string]string{}
	var order []string
	for _, name := range names {
		text, err := fs.ReadFile(steps, name)
		if err != nil {
			return "", fmt.Errorf("read a migration: %w", err)
		}
		for _, m := range outline.FindAllStringSubmatch(string(text), -1) {
			if comment, known := tables[m[2]]; known {
				groups[heading] += section(m[2], comment, columns, writers[m[2]])
				delete(tables, m[2])
			} else if m[1] != "" {
				heading = m[1]
			}
			if !slices.Contains(order, heading) {
				order = append(order, heading)
			}
		}
	}
	for _, heading := range order {
		if groups[heading] != "" {
			out.WriteString("\n## " + heading + "\n" + groups[heading])
		}
	}
	if len(tables) > 0 {
		return "", fmt.Errorf("no migration names %v", slices.Sorted(maps.Keys(tables)))
	}
	return out.String(), nil
}

func section(table, comment string, columns []column, writers []string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "\n### %s\n\n%s\n\n", table, comment)
	if len(writers) > 0 {
		fmt.Fprintf(&out, "Written by `%s`.\n\n", strings.Join(writers, "`, `"))
	}
	out.WriteString("| column | type | meaning |\n|---|---|---|\n")
	for _, c := range columns {
		if c.Table != table {
			continue
		}
		kind := strings.Replace(c.Type, "timestamp with time zone", "timestamptz", 1)
		if c.Null {
			kind += ", null"
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s |\n", c.Name, kind, strings.ReplaceAll(c.Comment, "|", `\|`))
	}
	return out.String()
}
