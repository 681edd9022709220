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
	retentionMarks = 2000   // maximum of sandboxes that one step marks
	retentionBoxes = 200    // maximum of sandboxes whose data one step removes
	retentionPacks = 5      // retentionBoxes for checkpoints, of which a task has up to checkpoint.max_bytes
	retentionRows  = 10_000 // approximate maximum of rows that one statement removes
)

// Clock returns the time of the database.
func (s *Store) Clock(ctx context.Context) (time.Time, error) {
	now, err := s.q.Clock(ctx)
	return now, translate("read the clock", err)
}

// Retain removes a bounded part of a kind's data of tasks that ended before a time. Retain first marks expired data,
// then drops partitions that hold only marked data, then removes rows. The next call continues after an interruption.
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
	if err == nil && !done.More {
		var copies int64
		copies, err = s.removeCopies(ctx, kind, before)
		done.Rows, done.More = done.Rows+copies, copies > 0
	}
	if kind == retention.Checkpoints && err == nil && !done.More {
		var objects retention.Step
		objects, err = s.tidy(ctx)
		done.Rows, done.More = done.Rows+objects.Rows, objects.More
	}
	return done, translate("remove expired "+kind, err)
}

// emptyBoxes removes the marked data of some sandboxes of one month.
func (s *Store) emptyBoxes(ctx context.Context, kind string) (rows int64, more bool, err error) {
	most := retentionBoxes
	if kind == retention.Checkpoints {
		most = retentionPacks
	}
	open, err := s.q.OpenRemovals(ctx, kind, most)
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
	return rows, len(some) < len(open) || len(open) == most, err
}

// removeCopies removes what some ended forks have copied from other tasks.
func (s *Store) removeCopies(ctx context.Context, kind string, before time.Time) (int64, error) {
	switch kind {
	case retention.Checkpoints:
		return s.q.RemoveCopies(ctx, before, retentionPacks)
	case retention.Transcripts:
		return s.q.RemoveCopiedTranscripts(ctx, before, retentionBoxes)
	}
	return 0, nil
}

// sameMonth returns the first sandboxes of one month with at most retentionRows events in total; at least one.
func sameMonth(open []db.OpenRemovalsRow) []db.OpenRemovalsRow {
	events := int64(0)
	for n, box := range open {
		if events += box.LastSequence; n > 0 && (!box.PartitionMonth.Equal(open[0].PartitionMonth) || events > retentionRows) {
			return open[:n]
		}
	}
	return open
}

// removeSpan removes the data of a kind in a range of sequences.
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

// removeWhole removes the data of a kind that is not per event.
func removeWhole(ctx context.Context, q *db.Queries, kind string, ids []string) (int64, error) {
	switch kind {
	case retention.Events:
		return 0, q.RemoveCounts(ctx, ids)
	case retention.Transcripts:
		return q.EmptyTranscripts(ctx, ids)
	case retention.Checkpoints:
		return q.RemoveCheckpoints(ctx, ids)
	case retention.Patches:
		return q.RemovePatches(ctx, ids)
	}
	return 0, nil
}

// sqlExpiredMonths returns the months whose partitions hold only marked events. The current month of the database is
// excluded, because new sandboxes are still created in it.
const sqlExpiredMonths = `SELECT m.month FROM (
		SELECT right(relname, 6) AS month, to_date(right(relname, 6), 'YYYYMM') AS first FROM pg_inherits JOIN pg_class ON oid = inhrelid
		WHERE inhparent = 'sandbox_events'::regclass AND relname ~ '_[0-9]{6}$') m
	WHERE m.first + interval '1 month' <= date_trunc('month', least($1::timestamptz, now())) AND NOT EXISTS (
		SELECT FROM sandboxes s WHERE s.partition_month >= m.first AND s.partition_month < m.first + interval '1 month'
			AND NOT EXISTS (SELECT FROM removals r WHERE r.subject = s.id AND r.kind = 'events'))
	ORDER BY 1`

// dropMonths drops partitions with marked events only. A drop waits for readers and blocks writers meanwhile, so its
// lock timeout is 200 ms; the next pass tries again.
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

// lockTaken reports whether a statement timed out waiting for a lock, or was the victim of a deadlock.
func lockTaken(err error) bool { return ofClass(sqlState(err), "55P03", "40P01") }

// kept returns [task.CodeGone] if retention removed that kind of data of a sandbox or task; of names the subject in the
// error.
func (s *Store) kept(ctx context.Context, kind, subject, of string) error {
	at, err := s.q.RemovedAt(ctx, subject, kind)
	if err != nil || len(at) == 0 {
		return translate("read removals", err)
	}
	return retention.Removed(kind, of, at[0])
}

// whole returns [task.CodeGone] if retention removed events between the query and the rows. Marks are read before the
// rows, and again if the sequences have a gap.
func (s *Store) whole(ctx context.Context, sandboxID, of string, after int64, rows []db.EventsAfterRow) error {
	if n := len(rows); n > 0 && rows[n-1].Sequence == after+int64(n) {
		return nil
	}
	at, err := s.q.RemovedAfter(ctx, sandboxID, after)
	if err != nil || len(at) == 0 {
		return translate("read removals", err)
	}
	return retention.Removed(retention.Events, of, at[0])
}

// BranchKept returns [task.CodeGone] if retention removed the branch of a task, or has marked the branch for removal.
func (s *Store) BranchKept(ctx context.Context, taskID string) error {
	return s.kept(ctx, retention.Branches, taskID, "task "+taskID)
}

// EventsKept returns [task.CodeGone] if retention removed the events of a sandbox.
func (s *Store) EventsKept(ctx context.Context, sandboxID string) error {
	return s.kept(ctx, retention.Events, sandboxID, "sandbox "+sandboxID)
}

// FieldsKept returns [task.CodeGone] if retention removed the large fields of a sandbox's events.
func (s *Store) FieldsKept(ctx context.Context, sandboxID string) error {
	return s.kept(ctx, retention.LargeFields, sandboxID, "sandbox "+sandboxID)
}
