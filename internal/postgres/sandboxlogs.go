package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/sandboxlog"
	"github.com/omoi-dev/omoi/internal/task"
)

var _ sandboxlog.Store = (*Store)(nil)

// WantLog requests the log of a sandbox for the time patience, and returns the time of the request by the database.
func (s *Store) WantLog(ctx context.Context, sandboxID string, patience time.Duration) (time.Time, error) {
	at, err := s.q.WantLog(ctx, sandboxID, patience)
	return at, translate("request the log of sandbox "+sandboxID, err)
}

// LogState reports whether a log was read since asked, and whether the log has ended.
func (s *Store) LogState(ctx context.Context, sandboxID string, asked time.Time) (fresh, ended bool, err error) {
	row, _, err := maybe(s.q.LogLook(ctx, &asked, sandboxID))
	return row.Fresh, row.Kept, translate("read the log state of sandbox "+sandboxID, err)
}

// LogEnd returns the position up to which a log is stored.
func (s *Store) LogEnd(ctx context.Context, sandboxID string) (int64, error) {
	end, err := s.q.LogEnd(ctx, sandboxID)
	return end, translate("find the end of the log of sandbox "+sandboxID, err)
}

// LogParts returns whole parts of a log after a position, at most size bytes or one part.
func (s *Store) LogParts(ctx context.Context, sandboxID string, after, size int64) ([]sandboxlog.Part, error) {
	rows, err := s.q.LogParts(ctx, db.LogPartsParams{SandboxID: sandboxID, After: after, MaxBytes: size})
	return mapAll(rows, func(r db.LogPartsRow) sandboxlog.Part { return sandboxlog.Part(r) }), translate("read the log of sandbox "+sandboxID, err)
}

// WantedLogs implements [sandboxlog.Store].
func (s *Store) WantedLogs(ctx context.Context, hostID string, providers []string) ([]sandboxlog.Wanted, error) {
	rows, err := s.q.WantedLogs(ctx, hostID, providers)
	if err != nil {
		return nil, translate("list requested logs", err)
	}
	var wanted []sandboxlog.Wanted
	for _, r := range rows {
		one := sandboxlog.Wanted{SandboxID: r.ID, TaskID: r.TaskID, Provider: r.Provider, Read: r.Read}
		// otherwise its provider does not know the sandbox
		if json.Unmarshal(r.Labels, &one.Labels) == nil && one.Labels.SandboxID == r.ID {
			wanted = append(wanted, one)
		}
	}
	return wanted, nil
}

// LogRead implements [sandboxlog.Store].
func (s *Store) LogRead(ctx context.Context, sandboxID string) (int64, error) {
	row, err := s.q.LockLog(ctx, sandboxID)
	return row.Read, translate("find the end of the log of sandbox "+sandboxID, err)
}

// AddLog implements [sandboxlog.Store]. If another worker stored later parts meanwhile, AddLog returns
// [task.CodeConflict].
func (s *Store) AddLog(ctx context.Context, sandboxID string, parts []sandboxlog.Part, keep int64) error {
	err := s.inTx(ctx, func(q *db.Queries) error {
		_, err := appendLog(ctx, q, sandboxID, parts, keep)
		return err
	})
	return translate("store the log of sandbox "+sandboxID, err)
}

// LogLooked implements [sandboxlog.Store].
func (s *Store) LogLooked(ctx context.Context, sandboxID string) error {
	return translate("record a read of the log of sandbox "+sandboxID, s.q.LogLooked(ctx, sandboxID))
}

// KeepLog implements [sandboxlog.Store]. A log that has ended does not change.
func (s *Store) KeepLog(ctx context.Context, sandboxID string, parts []sandboxlog.Part, keep int64) error {
	err := s.inTx(ctx, func(q *db.Queries) error {
		done, err := appendLog(ctx, q, sandboxID, parts, keep)
		if err != nil || !done {
			return err
		}
		return q.LogKept(ctx, sandboxID)
	})
	return translate("store the end of the log of sandbox "+sandboxID, err)
}

// appendLog adds parts to a log that has not ended; done is true if the log can end now.
func appendLog(ctx context.Context, q *db.Queries, sandboxID string, parts []sandboxlog.Part, keep int64) (done bool, err error) {
	row, err := q.LockLog(ctx, sandboxID)
	switch {
	case err != nil || row.Kept:
		return false, err
	case len(parts) == 0:
		return true, nil
	case parts[0].First < row.Read:
		return false, task.Errorf(task.CodeConflict, "Another worker has stored later parts of the log.")
	}
	for _, p := range parts {
		err := q.InsertLogPart(ctx, db.InsertLogPartParams{SandboxID: sandboxID, First: p.First, Last: p.Last, Content: p.Text})
		if err != nil {
			return false, err
		}
	}
	return true, q.DropLogParts(ctx, sandboxID, parts[len(parts)-1].Last-keep)
}
