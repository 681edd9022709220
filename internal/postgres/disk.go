package postgres

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// diskFresh is the time for which the last result counts.
const diskFresh = 30 * time.Second

// disk holds whether the last checked write found the disk full. The state is kept in memory, because a full disk
// cannot store an alert.
type disk struct {
	mu   sync.Mutex
	at   time.Time // time of the last result
	full error     // nil: the disk was not full
}

// Writable returns an error if the database cannot store data. Writable returns the result of the last 30 seconds if
// there is one, else writes a temporary table. Reads still succeed on a full disk.
func (s *Store) Writable(ctx context.Context) error {
	if full, fresh := s.disk.last(time.Now()); fresh {
		return full
	}
	_, err := s.pool.Exec(ctx, `CREATE TEMPORARY TABLE omoi_room ON COMMIT DROP AS SELECT repeat('x', 1000) AS text`)
	if err == nil && s.disk.note(nil) {
		s.cfg.Log.InfoContext(ctx, "alert cleared", slog.String("source", "database disk"))
	}
	return translate("write to the database", s.wrote(ctx, err))
}

// wrote records whether a write found the disk full, and returns err.
func (s *Store) wrote(ctx context.Context, err error) error {
	if sqlState(err) == diskFull && s.disk.note(translate("write to the database", err)) {
		s.cfg.Log.ErrorContext(ctx, "alert raised: operator action required", slog.String("source", "database disk"),
			slog.String("alert", "disk of the database is full. Next: free disk space"), slog.Any("error", err))
	}
	return err
}

// DiskFull reports whether the last checked write found the disk full.
func (s *Store) DiskFull() bool {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	return s.disk.full != nil
}

func (d *disk) last(now time.Time) (full error, fresh bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.full, now.Sub(d.at) < diskFresh
}

// note records a result and reports whether the state changed.
func (d *disk) note(full error) (changed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	changed = (d.full == nil) != (full == nil)
	d.at, d.full = time.Now(), full
	return changed
}
