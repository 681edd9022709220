package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/retention"
)

const (
	retentionMarks = 2000   // sandboxes that one step marks at most
	retentionBoxes = 200    // sandboxes that one step empties at most
	retentionRows  = 10_000 // rows that one statement removes at most, about
)

// Clock returns the time of the database.
func (s *Store) Clock(ctx context.Context) (time.Time, error) {
	now, err := s.q.Clock(ctx)
	return now, translate("read the clock", err)
}

// Retain removes a bounded part of a kind's data of tasks that ended before a moment. It first marks what has expired, then
// drops the partitions of months that hold nothing else, then removes rows. It goes on where an interrupted call stopped.
func (s *Store) Retain(ctx context.Context, kind string, now, before time.Time) (retention.Step, error) {
	var done retention.Step
	var err error
	if kind == retention.BusRows {
		done.Rows, err = s.q.RemoveBusRows(ctx, before, retentionRows)
		done.More = done.Rows == retentionRows
		return done, translate("remove bus rows", err)
	}
	done.Subjects, err = s.q.MarkExpired(ctx, db.MarkExpiredParams{Kind: kind, Now: now, Before: before, Most: retentionMarks})
	switch {
	case err != nil:
		return done, translate("mark expired "+kind, err)
	case done.Subjects == retentionMarks:
		done.More = true
		return done, nil
	}
	if kind == retention.Events {
		if done.Partitions, err = s.dropMonths(ctx, now); err != nil {
			return done, translate("drop partitions of events", err)
		}
	}
	done.Rows, done.More, err = s.emptyBoxes(ctx, kind)
	return done, translate("remove expired "+kind, err)
}

// emptyBoxes removes the marked data of some sandboxes of one month.
func (s *Store) emptyBoxes(ctx context.Context, kind string) (rows int64, more bool, err error) {
	open, err := s.q.OpenRemovals(ctx, kind, retentionBoxes)
	if err != nil || len(open) == 0 {
		return 0, false, err
	}
	some := sameMonth(open)
	span := db.RemoveEventsParams{PartitionMonth: some[0].PartitionMonth}
	newest := int64(0)
	for _, box := range some {
		span.Ids, newest = append(span.Ids, box.ID), max(newest, box.LastSequence)
	}
	for ; span.After < newest; span.After = span.Until {
		span.Until = min(newest, span.After+max(retentionRows/int64(len(some)), 1))
		n, err := s.removeSpan(ctx, kind, span)
		if rows += n; err != nil {
			return rows, true, err
		}
	}
	err = s.inTx(ctx, func(q *db.Queries) error {
		n, err := removeWhole(ctx, q, kind, span.Ids)
		if rows += n; err != nil {
			return err
		}
		return q.SettleRemovals(ctx, kind, span.Ids)
	})
	return rows, len(some) < len(open) || len(open) == retentionBoxes, err
}

// sameMonth returns the first sandboxes, as long as they are of one month and have few events together; at least one.
func sameMonth(open []db.OpenRemovalsRow) []db.OpenRemovalsRow {
	events := int64(0)
	for n, box := range open {
		if events += box.LastSequence; n > 0 && (!box.PartitionMonth.Equal(open[0].PartitionMonth) || events > retentionRows) {
			return open[:n]
		}
	}
	return open
}

// removeSpan removes what a kind has in a span of event numbers.
func (s *Store) removeSpan(ctx context.Context, kind string, span db.RemoveEventsParams) (int64, error) {
	switch kind {
	case retention.LargeFields:
		return s.q.EmptyFields(ctx, db.EmptyFieldsParams(span))
	case retention.Events:
		if err := s.q.RemoveEventFields(ctx, db.RemoveEventFieldsParams(span)); err != nil {
			return 0, err
		}
		return s.q.RemoveEvents(ctx, span)
	}
	return 0, nil
}

// removeWhole removes what a kind has of sandboxes beside their events.
func removeWhole(ctx context.Context, q *db.Queries, kind string, ids []string) (int64, error) {
	switch kind {
	case retention.Events:
		return 0, q.RemoveCounts(ctx, ids)
	case retention.Transcripts:
		return q.EmptyTranscripts(ctx, ids)
	case retention.Patches:
		return q.RemovePatches(ctx, ids)
	}
	return 0, nil
}

// sqlExpiredMonths names the months whose partitions hold no event but those that are marked. The month of the database's own
// clock is never among them: sandboxes are still born in it.
const sqlExpiredMonths = `SELECT m.month FROM (
		SELECT right(relname, 6) AS month, to_date(right(relname, 6), 'YYYYMM') AS first FROM pg_inherits JOIN pg_class ON oid = inhrelid
		WHERE inhparent = 'sandbox_events'::regclass AND relname ~ '_[0-9]{6}$') m
	WHERE m.first + interval '1 month' <= date_trunc('month', least($1::timestamptz, now())) AND NOT EXISTS (
		SELECT FROM sandboxes s WHERE s.partition_month >= m.first AND s.partition_month < m.first + interval '1 month'
			AND NOT EXISTS (SELECT FROM removals r WHERE r.subject = s.id AND r.kind = 'events'))
	ORDER BY 1`

// dropMonths drops the partitions of which all is marked. A drop waits for readers, and who reports waits behind it: where it
// does not get the lock within 200 ms the next pass tries again.
func (s *Store) dropMonths(ctx context.Context, now time.Time) (dropped int64, err error) {
	months, err := collectRows[struct{ Month string }](ctx, s, sqlExpiredMonths, now)
	if err != nil {
		return 0, err
	}
	for _, one := range months {
		err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, fmt.Sprintf(`SET LOCAL lock_timeout = '200ms'; DROP TABLE IF EXISTS sandbox_events_%[1]s, event_fields_%[1]s`, one.Month))
			return err
		})
		switch {
		case lockTaken(err):
			return dropped, nil
		case err != nil:
			return dropped, err
		}
		dropped++
	}
	return dropped, nil
}

// lockTaken reports whether a statement gave up waiting for a lock, or was the victim of a deadlock.
func lockTaken(err error) bool { return ofClass(sqlState(err), "55P03", "40P01") }

// kept is [task.CodeGone] if retention removed that kind of data of a sandbox; of names the sandbox to readers.
func (s *Store) kept(ctx context.Context, kind, subject, of string) error {
	at, err := s.q.RemovedAt(ctx, subject, kind)
	if err != nil || len(at) == 0 {
		return translate("look at what was removed", err)
	}
	return retention.Removed(kind, of, at[0])
}

// whole is [task.CodeGone] if events are missing among the rows behind a number because retention removed them meanwhile: what is
// marked is looked at before the rows are read, and again where they do not follow each other.
func (s *Store) whole(ctx context.Context, sandboxID, of string, after int64, rows []db.EventsAfterRow) error {
	if n := len(rows); n > 0 && rows[n-1].Sequence == after+int64(n) {
		return nil
	}
	at, err := s.q.RemovedAfter(ctx, sandboxID, after)
	if err != nil || len(at) == 0 {
		return translate("look at what was removed", err)
	}
	return retention.Removed(retention.Events, of, at[0])
}

// BranchKept is [task.CodeGone] if retention removed the branch of a task, or has found that it was to be removed.
func (s *Store) BranchKept(ctx context.Context, taskID string) error {
	return s.kept(ctx, retention.Branches, taskID, "task "+taskID)
}

// EventsKept is [task.CodeGone] if retention removed the events of a sandbox.
func (s *Store) EventsKept(ctx context.Context, sandboxID string) error {
	return s.kept(ctx, retention.Events, sandboxID, "sandbox "+sandboxID)
}

// FieldsKept is [task.CodeGone] if retention removed the large fields of a sandbox's events.
func (s *Store) FieldsKept(ctx context.Context, sandboxID string) error {
	return s.kept(ctx, retention.LargeFields, sandboxID, "sandbox "+sandboxID)
}
