package omoios

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/omoi-dev/omoi/internal/postgres/db"
)

type dependencyRow struct {
	ID

	Dependencies string
}

// dependencies links imported tasks. Dependencies of tasks that omoi has run since stay as they are.
func (r *run) dependencies(ctx context.Context) error {
	if !r.src.has("tasks", "dependencies") {
		return nil
	}
	const named = `tasks t WHERE t.dependencies::text ~ '"depends_on"\s*:\s*\[\s*"'`
	k, err := r.kind(ctx, "tasks.dependencies", named)
	if err != nil {
		return err
	}
	return each(ctx, r, k, "SELECT t.id::text, t.dependencies::text FROM "+named+" ORDER BY 1", addDependencies)
}

func addDependencies(ctx context.Context, q *db.Queries, d dependencyRow) (outcome, error) {
	var named struct {
		Tasks []string `json:"depends_on"`
	}
	_ = json.Unmarshal([]byte(d.Dependencies), &named) // of another form: none
	if len(named.Tasks) == 0 {
		return skip("It has another form than a list of task IDs"), nil
	}
	id := idOf("task", d.rowID())
	organization, err := q.ImportedTask(ctx, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return skip("Its task is not imported"), nil
	}
	if err != nil {
		return outcome{}, err
	}
	out, linked := outcome{existing: true}, false
	for _, on := range named.Tasks {
		added, reason, err := link(ctx, q, organization, id, idOf("task", on))
		switch {
		case err != nil:
			return out, err
		case reason != "":
			out.changes = append(out.changes, reason)
		default:
			linked, out.existing = true, out.existing && !added
		}
	}
	if !linked {
		return skip(strings.Join(slices.Compact(out.changes), ". ")), nil
	}
	return out, nil
}

// link makes a task depend on another one, or returns why it must not.
func link(ctx context.Context, q *db.Queries, organization, id, on string) (added bool, reason string, err error) {
	of, err := q.ImportedTask(ctx, on)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, "A dependency is left out: its task is not imported", nil
	case err != nil:
		return false, "", err
	case of != organization:
		return false, "A dependency is left out: its task is in another organization", nil
	}
	if cycle, err := q.DependsOn(ctx, id, on); cycle || err != nil {
		return false, "A dependency is left out: it closes a cycle", err // on depends on id
	}
	n, err := q.ImportDependency(ctx, id, on)
	return n > 0, "", err
}
