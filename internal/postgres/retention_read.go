package postgres

import (
	"cmp"
	"context"
	"time"

	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/retention"
	"github.com/omoi-dev/omoi/internal/task"
)

// ExpiredGit lists tasks with IDs above after that ended before a time and whose branch or refs were not removed yet.
func (s *Store) ExpiredGit(ctx context.Context, kind string, before time.Time, after string, most int) ([]retention.ExpiredGit, error) {
	const first = "00000000-0000-0000-0000-000000000000"
	rows, err := s.q.ExpiredGit(ctx, db.ExpiredGitParams{
		Before: before, After: cmp.Or(after, first), Kind: kind, Most: most,
	})
	return mapAll(rows, func(r db.ExpiredGitRow) retention.ExpiredGit {
		return retention.ExpiredGit{TaskID: r.ID, Repo: r.Repo, UserID: task.Deref(r.UserID), ProjectID: r.ProjectID, Earlier: r.Earlier}
	}), translate("list expired "+kind, err)
}

// NoteRemoval records that a kind of a task's data was removed.
func (s *Store) NoteRemoval(ctx context.Context, kind, taskID string, now time.Time) error {
	return translate("record a removal", s.q.NoteRemoval(ctx, db.NoteRemovalParams{Subject: taskID, Kind: kind, RemovedAt: now}))
}

// sqlSizes returns the sizes of the tables of each kind.
const sqlSizes = `SELECT k.kind, sum(pg_total_relation_size(t.relid))::bigint FROM (VALUES
		('events', 'sandbox_events'), ('events', 'event_counts'), ('events', 'log_parts'), ('large_fields', 'event_fields'),
		('transcripts', 'transcripts'), ('checkpoints', 'checkpoints'), ('checkpoints', 'checkpoint_chunks'), ('patches', 'stored_texts'), ('bus_rows', 'bus_events')) k (kind, name)
	CROSS JOIN LATERAL (SELECT relid FROM pg_partition_tree(k.name::regclass) UNION SELECT k.name::regclass) t GROUP BY k.kind`

// Storage returns the size of each kind, and what the next retention pass would remove by these rules.
func (s *Store) Storage(ctx context.Context, rules retention.Policy) (retention.Storage, error) {
	now, err := s.q.Clock(ctx)
	if err != nil {
		return retention.Storage{}, translate("read the clock", err)
	}
	out := retention.Storage{At: now.Add(rules.Ahead).UTC()}
	sizes, err := s.sizes(ctx)
	if err != nil {
		return out, translate("read the sizes of tables", err)
	}
	for _, kind := range retention.Kinds() {
		one := retention.StorageKind{Kind: kind, KeepSeconds: rules.Keep[kind].Seconds()}
		if size, known := sizes[kind]; known {
			one.Bytes = &size
		}
		if kind == retention.Checkpoints {
			one.ObjectBytes, err = s.q.ObjectBytes(ctx)
		}
		if err == nil && rules.Keep[kind] > 0 {
			err = s.countExpired(ctx, &one, out.At.Add(-rules.Keep[kind]))
		}
		if err != nil {
			return out, translate("measure "+kind, err)
		}
		out.Kinds = append(out.Kinds, one)
	}
	return out, nil
}

func (s *Store) sizes(ctx context.Context) (map[string]int64, error) {
	rows, err := collectRows[struct {
		Kind string
		Size int64
	}](ctx, s, sqlSizes)
	found := map[string]int64{}
	for _, r := range rows {
		found[r.Kind] = r.Size
	}
	return found, err
}

// countExpired counts what the next pass would remove of a kind.
func (s *Store) countExpired(ctx context.Context, one *retention.StorageKind, before time.Time) (err error) {
	switch one.Kind {
	case retention.BusRows:
		one.Expired, err = s.q.ExpiredBusRows(ctx, before)
	case retention.Branches, retention.Refs:
		one.Expired, err = s.q.CountExpiredGit(ctx, before, one.Kind)
	default:
		var row db.ExpiredBoxesRow
		row, err = s.q.ExpiredBoxes(ctx, one.Kind, before)
		one.Expired = row.Boxes
		if one.Kind == retention.Events {
			one.ExpiredRows = row.Events
		}
	}
	return err
}
