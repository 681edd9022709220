package postgres

import (
	"context"
	"time"
)

// Statements whose plans are tested.
const (
	SQLPlans    = sqlPlans
	SQLReadKeys = sqlReadKeys
)

// Wrote looks at the error of a write.
func (s *Store) Wrote(ctx context.Context, err error) error { return s.wrote(ctx, err) }

// AgeDisk makes the last answer about the disk older.
func (s *Store) AgeDisk(by time.Duration) { s.disk.at = s.disk.at.Add(-by) }
