package omoios

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// Options are the options of an import.
type Options struct {
	DSN    string // database of OmoiOS
	DryRun bool   // nothing is written
	// Into names the organization of omoi that gets all rows; empty: the organizations of OmoiOS are imported.
	Into string
	// Key is the key that encrypts credentials in OmoiOS, 64 hexadecimal digits; empty: unknown.
	Key string
	// Agent and Provider are those of imported tasks, for a retry.
	Agent, Provider string
	MaxSlots        int              // concurrency limit of imported projects
	Ring            *credential.Ring // encrypts credentials
	Progress        func(text string)
}

// Target is the database of omoi.
type Target interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

// run is one import.
type run struct {
	Options

	src    *source
	target Target
	undo   bool // transactions are rolled back
	into   string
	fernet *fernet
	// sessions are those whose transcripts the source has, by sandbox.
	sessions map[string]map[string]bool
	report   Report
}

// Run imports the database of OmoiOS. A dry run does the same and rolls it back.
func Run(ctx context.Context, target Target, o Options) (report Report, err error) {
	r := &run{Options: o, target: target, sessions: map[string]map[string]bool{}, report: Report{DryRun: o.DryRun}}
	if r.fernet, err = newFernet(o.Key); err != nil {
		return report, err
	}
	if r.src, err = openSource(ctx, o.DSN); err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, r.src.close(ctx)) }()
	if err := r.objects(ctx); err != nil {
		return report, err
	}
	r.undo = o.DryRun // events and transcripts do not depend on what was rolled back
	for _, step := range []func(context.Context) error{r.transcripts, r.events, r.others} {
		if err := step(ctx); err != nil {
			return report, err
		}
	}
	return r.report, r.report.check()
}

// errUndo rolls back a transaction.
var errUndo = errors.New("dry run")

// objects imports everything that other rows refer to. A dry run does it in one transaction.
func (r *run) objects(ctx context.Context) error {
	steps := []func(context.Context) error{
		r.openInto, r.organizations, r.users, r.gitHubTokens, r.credentials, r.projects, r.tickets, r.tasks, r.dependencies,
	}
	all := func() error {
		for _, step := range steps {
			if err := step(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	if !r.DryRun {
		return all()
	}
	pool := r.target
	defer func() { r.target = pool }()
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		// the source may answer late, while this transaction waits
		if _, err := tx.Exec(ctx, "SET LOCAL idle_in_transaction_session_timeout = 0"); err != nil {
			return writeFailed("the dry run", err)
		}
		r.target = tx
		if err := all(); err != nil {
			return err
		}
		return errUndo
	})
	if errors.Is(err, errUndo) {
		return nil
	}
	return err
}

// commit runs do in a transaction of the target. Readers of the WebSocket learn nothing of imported rows.
func (r *run) commit(ctx context.Context, what string, do func(tx pgx.Tx) error) error {
	err := pgx.BeginFunc(ctx, r.target, func(tx pgx.Tx) error {
		if err := do(tx); err != nil {
			return err
		}
		if err := db.New(tx).DropFrames(ctx); err != nil {
			return err
		}
		if r.undo {
			return errUndo
		}
		return nil
	})
	if errors.Is(err, errUndo) {
		return nil
	}
	return writeFailed(what, err)
}

// row is a row of the source.
type row interface{ rowID() string }

// ID is the ID of a row in OmoiOS.
type ID struct{ ID string }

func (i ID) rowID() string { return i.ID }

// table adds a table to the report and counts its rows; nil if the source lacks the table.
func (r *run) table(ctx context.Context, name string) (*Kind, error) {
	if !r.src.has(name, "") {
		r.report.Kinds = append(r.report.Kinds, &Kind{Table: name, Missing: true})
		return nil, nil //nolint:nilnil // there is none
	}
	return r.kind(ctx, name, name)
}

// kind adds rows of a table to the report and counts them; nil with an error.
func (r *run) kind(ctx context.Context, name, from string) (*Kind, error) {
	k := &Kind{Table: name}
	r.report.Kinds = append(r.report.Kinds, k)
	rows, err := r.src.count(ctx, name, from)
	if err != nil {
		return nil, err
	}
	if k.Rows = rows; rows > 0 && r.Progress != nil {
		r.Progress(fmt.Sprintf("%s: %d rows", name, rows))
	}
	return k, nil
}

// step is how often progress is reported, in rows.
const step = 10_000

func (r *run) progress(k *Kind) {
	if n := k.Imported + k.Existing + k.Skipped; n%step == 0 && r.Progress != nil {
		r.Progress(fmt.Sprintf("%s: %d of %d", k.Table, n, k.Rows))
	}
}

// read passes each row of a query on the source to do.
func read[T any](ctx context.Context, s *source, what, query string, do func(T) error, args ...any) error { //nolint:revive // ends with those of the query
	rows, err := s.tx.Query(ctx, query, args...)
	if err != nil {
		return readFailed(what, err)
	}
	defer rows.Close()
	for rows.Next() {
		one, err := pgx.RowToStructByPos[T](rows)
		if err != nil {
			return readFailed(what, err)
		}
		if err := do(one); err != nil {
			return err
		}
	}
	return readFailed(what, rows.Err())
}

// each imports the rows of a query, many of them in one transaction of the target, and counts the outcome of each.
func each[T row](ctx context.Context, r *run, k *Kind, query string, one func(context.Context, *db.Queries, T) (outcome, error), args ...any) error { //nolint:revive // ends with those of the query
	const most = 100
	var batch []T
	flush := func() error {
		results := make([]outcome, len(batch))
		err := r.commit(ctx, k.Table, func(tx pgx.Tx) (err error) {
			for n := range batch {
				if results[n], err = alone(ctx, tx, batch[n], one); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		for n := range batch {
			k.count(batch[n].rowID(), results[n])
			r.progress(k)
		}
		batch = batch[:0]
		return nil
	}
	err := read(ctx, r.src, k.Table, query, func(next T) error {
		if batch = append(batch, next); len(batch) < most {
			return nil
		}
		return flush()
	}, args...)
	if err != nil || len(batch) == 0 {
		return err
	}
	return flush()
}

// alone imports one row. A row that the database rejects changes nothing and is skipped.
func alone[T row](ctx context.Context, tx pgx.Tx, next T, one func(context.Context, *db.Queries, T) (outcome, error)) (out outcome, err error) {
	err = pgx.BeginFunc(ctx, tx, func(part pgx.Tx) (err error) {
		out, err = one(ctx, db.New(part), next)
		return err
	})
	if text := rejected(err); text != "" {
		return skip(text), nil
	}
	return out, err
}

// rejected returns the reason for which the database rejects a value; empty: it does not.
func rejected(err error) string {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || len(pg.Code) < 2 || (pg.Code[:2] != "22" && pg.Code[:2] != "23" && pg.Code[:2] != "54") {
		return ""
	}
	return "The database of omoi rejects it: " + pg.Message
}

// writeFailed returns the error of a failed write to the target.
func writeFailed(what string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	if _, coded := errors.AsType[*task.Error](err); coded {
		return err
	}
	return task.Errorf(task.CodeUnavailable, "Cannot write %s to the database of omoi: %s. What was imported stays. Next: run the command again, it continues", what, cause(err)).WithCause(err)
}
