package postgres

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// diskFresh is how long the last answer about the disk stands.
const diskFresh = 30 * time.Second

// disk remembers whether the last write found room. A full disk is told of here and in a metric, since
// no alarm could be written then.
type disk struct {
	mu   sync.Mutex
	at   time.Time // of the last answer
	full error     // nil: there was room
}

// Writable reports whether the database takes what is new, by a write of the last 30 seconds that found the disk
// full, or else by a small table that ends with its transaction. Where the disk is full, reads still succeed.
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

// wrote looks whether a write found the disk full, and returns its error.
func (s *Store) wrote(ctx context.Context, err error) error {
	if sqlState(err) == diskFull && s.disk.note(translate("write to the database", err)) {
		s.cfg.Log.ErrorContext(ctx, "alert raised: operator action required", slog.String("source", "database disk"),
			slog.String("alert", "disk of the database is full. Next: free disk space"), slog.Any("error", err))
	}
	return err
}

// DiskFull reports whether the last write that was looked at found the disk full.
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

// note remembers an answer, and reports whether it changed.
func (d *disk) note(full error) (changed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	changed = (d.full == nil) != (full == nil)
	d.at, d.full = time.Now(), full
	return changed
}
