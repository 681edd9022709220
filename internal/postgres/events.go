package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres/db"
)

// Statements of ingest that return rows. They are written by hand, because they are sent in pipelines of different
// statements, which sqlc cannot generate.
const (
	sqlLockSandboxes = `SELECT id, partition_month, task_id::text, last_sequence, spool_id, spool_watermark, ended_at IS NOT NULL,
			omoi_token_ended(verified_at, machine, state, gone_at) OR EXISTS (SELECT FROM removals r WHERE r.subject = id AND r.kind = 'events')
		FROM sandboxes WHERE id = ANY($1::text[]) ORDER BY id FOR NO KEY UPDATE`
	sqlReadMarks = `SELECT s.sandbox_id, s.spool_id, s.watermark FROM event_spools s
		JOIN unnest($1::text[], $2::text[]) AS q(sandbox_id, spool_id) USING (sandbox_id, spool_id)`
	sqlReadKeys = `SELECT e.sandbox_id, e.key, e.sequence, e.created_at
		FROM unnest($1::text[], $2::text[]) AS q(sandbox_id, key)
		JOIN sandboxes s ON s.id = q.sandbox_id
		JOIN sandbox_events e ON e.partition_month = s.partition_month AND e.sandbox_id = q.sandbox_id AND e.key = q.key`
	sqlClock = `SELECT clock_timestamp()`
	// If a row differs from the plan, the division by zero rolls back the whole transaction.
	sqlMoveSandboxes = `WITH moved AS (
		UPDATE sandboxes s SET last_sequence = q.last_sequence, spool_id = q.spool_id, spool_watermark = q.spool_watermark,
			duplicates = s.duplicates + q.duplicates,
			last_event_at = CASE WHEN q.stored THEN coalesce($12, now()) ELSE s.last_event_at END,
			last_work_at = CASE WHEN q.worked THEN coalesce($12, now()) ELSE s.last_work_at END,
			events_due_at = CASE WHEN q.due_in IS NULL THEN s.events_due_at
				ELSE least(s.events_due_at, coalesce($12::timestamptz, now()) + q.due_in * interval '1 second') END
		FROM (SELECT unnest($1::text[]) AS id, unnest($2::bigint[]) AS last_sequence, unnest($3::text[]) AS spool_id, unnest($4::bigint[]) AS spool_watermark,
			unnest($5::bigint[]) AS duplicates, unnest($6::boolean[]) AS stored, unnest($7::boolean[]) AS worked, unnest($8::float8[]) AS due_in,
			unnest($9::bigint[]) AS was_last, unnest($10::text[]) AS task_id, unnest($11::boolean[]) AS ended) q
		WHERE s.id = q.id AND s.last_sequence = q.was_last AND s.task_id::text IS NOT DISTINCT FROM q.task_id
			AND (s.ended_at IS NOT NULL) = q.ended
		RETURNING 1
	) SELECT 1 / (count(*) = cardinality($1::text[]))::integer, now() FROM moved`
)

// CommitEvents implements [ingest.IntakeStore]. If this process remembers the rows of all sandboxes, one round trip
// stores the events. Otherwise CommitEvents locks the rows in order of their IDs, numbers the new events and stores
// them, in two round trips.
func (s *Store) CommitEvents(ctx context.Context, c ingest.Commit) ([]ingest.Outcome, error) {
	const tries = 5
	outcomes, done, err := s.commitKnown(ctx, c)
	if done || err != nil {
		return outcomes, translate("store events", s.wrote(ctx, err))
	}
	for range tries {
		outcomes, err = s.commitEvents(ctx, c)
		if !repeatable(err) && !errors.Is(err, errBareMade) && !outdated(err) {
			break
		}
	}
	if err != nil && isDataError(err) {
		return nil, fmt.Errorf("store events: %w: %w", ingest.ErrData, err)
	}
	return outcomes, translate("store events", s.wrote(ctx, err))
}

// errBareMade requests another try: rows of unknown sandboxes were missing and now exist.
var errBareMade = errors.New("rows of unmanaged sandboxes were created")

func (s *Store) commitEvents(ctx context.Context, c ingest.Commit) ([]ingest.Outcome, error) {
	pool, err := s.commits()
	if err != nil {
		return nil, err
	}
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer releaseRolledBack(ctx, conn)
	plan, err := readEventPlan(ctx, conn, c.Requests)
	if err != nil {
		return nil, err
	}
	if missing := missingBare(plan, c.Requests); len(missing) > 0 {
		return nil, makeBare(ctx, conn, missing)
	}
	outcomes := make([]ingest.Outcome, len(c.Requests))
	for n, r := range c.Requests {
		outcomes[n] = plan.take(r)
	}
	batch := plan.batch(ctx, c)
	batch.Queue("COMMIT")
	if err := conn.SendBatch(ctx, batch).Close(); err != nil {
		return nil, err
	}
	s.known.keep(plan)
	return outcomes, nil
}

// releaseRolledBack releases a connection outside of any transaction. The pool closes a connection that cannot be
// rolled back.
func releaseRolledBack(ctx context.Context, conn *pgxpool.Conn) {
	if conn.Conn().PgConn().TxStatus() == 'E' {
		_, _ = conn.Exec(ctx, "ROLLBACK")
	}
	conn.Release()
}

// readEventPlan begins the transaction, locks the sandboxes, and reads under the locks. Each statement sees all commits
// before its start, so watermarks and keys are current.
func readEventPlan(ctx context.Context, conn *pgxpool.Conn, requests []ingest.Request) (*eventPlan, error) {
	plan := newEventPlan(requests)
	asked := askedOf(requests)
	batch := &pgx.Batch{}
	batch.Queue("BEGIN")
	batch.Queue(sqlLockSandboxes, asked.sandboxes).Query(plan.readSandboxes)
	if len(asked.spools) > 0 {
		batch.Queue(sqlReadMarks, asked.spoolSandboxes, asked.spools).Query(plan.readMarks)
	}
	if len(asked.keys) > 0 {
		batch.Queue(sqlReadKeys, asked.keySandboxes, asked.keys).Query(plan.readKeys)
	}
	batch.Queue(sqlClock).QueryRow(func(row pgx.Row) error { return row.Scan(&plan.now) })
	return plan, conn.SendBatch(ctx, batch).Close()
}

// asked holds the sandboxes, spools and keys of the requests of one transaction.
type asked struct{ sandboxes, spoolSandboxes, spools, keySandboxes, keys []string }

func askedOf(requests []ingest.Request) asked {
	var a asked
	for _, r := range requests {
		a.sandboxes = append(a.sandboxes, r.SandboxID)
		switch {
		case r.SpoolID != "":
			a.spoolSandboxes, a.spools = append(a.spoolSandboxes, r.SandboxID), append(a.spools, r.SpoolID)
		case r.Key != "":
			a.keySandboxes, a.keys = append(a.keySandboxes, r.SandboxID), append(a.keys, r.Key)
		}
	}
	return a
}

func (p *eventPlan) readSandboxes(rows pgx.Rows) error {
	for rows.Next() {
		s := &eventSandbox{}
		err := rows.Scan(&s.id, &s.month, &s.taskID, &s.head, &s.spoolID, &s.spoolMark, &s.ended, &s.over)
		if err != nil {
			return err
		}
		s.was = s.head
		p.sandboxes[s.id] = s
	}
	return rows.Err()
}

func (p *eventPlan) readMarks(rows pgx.Rows) error {
	var id senderID
	var mark int64
	_, err := pgx.ForEachRow(rows, []any{&id.sandbox, &id.spool, &mark}, func() error {
		p.marks[id] = mark
		return nil
	})
	return err
}

func (p *eventPlan) readKeys(rows pgx.Rows) error {
	var id keyID
	var known keyedEvent
	_, err := pgx.ForEachRow(rows, []any{&id.sandbox, &id.key, &known.sequence, &known.at}, func() error {
		p.keys[id] = known
		return nil
	})
	return err
}

func missingBare(p *eventPlan, requests []ingest.Request) []string {
	var missing []string
	for _, r := range requests {
		if _, known := p.sandboxes[r.SandboxID]; !known && r.Bare {
			missing = append(missing, r.SandboxID)
		}
	}
	return missing
}

// makeBare rolls back the transaction and creates rows for unknown sandboxes outside of it. Rows created inside would
// be locked out of order.
func makeBare(ctx context.Context, conn *pgxpool.Conn, ids []string) error {
	if _, err := conn.Exec(ctx, "ROLLBACK"); err != nil {
		return err
	}
	return cmp.Or(db.New(conn).MakeBareSandboxes(ctx, ids), errBareMade)
}

// outdated reports whether the plan did not match the rows: the division by zero in sqlMoveSandboxes.
func outdated(err error) bool { return sqlState(err) == "22012" }

// isDataError reports whether a value caused the error: an invalid, too large or too deeply nested text, number or
// JSON.
func isDataError(err error) bool { return !outdated(err) && ofClass(sqlState(err), "22", "54") }

// queued is a [db.DBTX] that adds statements without results to a batch. Its Exec never returns an error.
type queued struct {
	db.DBTX // nil: statements with results would panic

	batch *pgx.Batch
}

func (q queued) Exec(_ context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	q.batch.Queue(sql, args...)
	return pgconn.CommandTag{}, nil
}

// batch returns the statements that store the plan. They are sent in one round trip. A null time means the time of the
// transaction.
func (p *eventPlan) batch(ctx context.Context, c ingest.Commit) *pgx.Batch {
	batch := &pgx.Batch{}
	p.queueSandboxes(batch, c.Quiet) // first, because it detects an outdated plan
	q := db.New(queued{batch: batch})
	p.queueWorn(ctx, q)
	p.queueEvents(ctx, q)
	p.queueLarge(ctx, q)
	p.queueSenders(ctx, q)
	p.queueMessages(ctx, q)
	p.queueSpec(ctx, q)
	return batch
}

func (p *eventPlan) queueEvents(ctx context.Context, q *db.Queries) {
	n := len(p.rows)
	in := db.InsertEventsParams{
		At: timeOr(p.now), Ids: make([]string, 0, n), Sequences: make([]int64, 0, n), PartitionMonths: make([]time.Time, 0, n),
		EventTypes: make([]string, 0, n), Sources: make([]string, 0, n), EventData: make([]string, 0, n), Late: make([]bool, 0, n),
		Keys: make([]string, 0, n),
	}
	for _, row := range p.rows {
		if row.event.Large != nil {
			continue // see queueLarge
		}
		in.Ids, in.Sequences, in.PartitionMonths = append(in.Ids, row.sandbox.id), append(in.Sequences, row.sequence), append(in.PartitionMonths, row.sandbox.month)
		in.EventTypes, in.Sources = append(in.EventTypes, row.event.Type), append(in.Sources, row.event.Source)
		in.EventData, in.Late, in.Keys = append(in.EventData, string(row.event.Data)), append(in.Late, row.sandbox.ended), append(in.Keys, row.key)
	}
	if len(in.Ids) > 0 {
		_ = q.InsertEvents(ctx, in)
	}
}

func (p *eventPlan) queueWorn(ctx context.Context, q *db.Queries) {
	if len(p.worn) > 0 {
		_ = q.FreeKeys(ctx, mapAll(p.worn, func(id keyID) string { return id.sandbox }), mapAll(p.worn, func(id keyID) string { return id.key }))
	}
}

func (p *eventPlan) queueSandboxes(batch *pgx.Batch, quiet time.Duration) {
	var ids []string
	var spools, tasks []*string
	var heads, marks, duplicates, was []int64
	var stored, worked, ended []bool
	var due []*float64
	for _, id := range slices.Sorted(maps.Keys(p.sandboxes)) { // all transactions lock in this order
		s := p.sandboxes[id]
		if s.stored == 0 && s.duplicates == 0 {
			continue
		}
		ids, spools, tasks = append(ids, s.id), append(spools, s.spoolID), append(tasks, s.taskID)
		heads, marks, was = append(heads, s.head), append(marks, s.spoolMark), append(was, s.was)
		duplicates, due = append(duplicates, int64(s.duplicates)), append(due, dueIn(s, quiet))
		stored, worked, ended = append(stored, s.stored > 0), append(worked, s.worked), append(ended, s.ended)
	}
	if len(ids) > 0 {
		batch.Queue(sqlMoveSandboxes, ids, heads, spools, marks, duplicates, stored, worked, due,
			was, tasks, ended, timeOr(p.now)).QueryRow(func(row pgx.Row) error { return row.Scan(nil, &p.moved) })
	}
}

// dueIn returns the delay in seconds until the relay sends new events of a sandbox; nil: never.
func dueIn(s *eventSandbox, quiet time.Duration) *float64 {
	if !s.relays() {
		return nil
	}
	var seconds float64
	if !s.milestone {
		seconds = quiet.Seconds()
	}
	return &seconds
}

func (p *eventPlan) queueSenders(ctx context.Context, q *db.Queries) {
	var in db.MoveMarksParams
	for id, mark := range p.newMarks {
		in.SandboxIds, in.SpoolIds, in.Watermarks = append(in.SandboxIds, id.sandbox), append(in.SpoolIds, id.spool), append(in.Watermarks, mark)
	}
	if len(p.newMarks) > 0 {
		_ = q.MoveMarks(ctx, in)
	}
}
