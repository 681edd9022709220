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

// PlacesWhile answers the places of a type as a reader finds them that counts, and reads after something else was done.
func (s *Store) PlacesWhile(ctx context.Context, sandboxID, eventType string, most int32, meanwhile func()) ([]int64, error) {
	counts, err := s.eventCounts(ctx, sandboxID)
	if err != nil {
		return nil, err
	}
	meanwhile()
	return s.places(sandboxID, eventType, counts).after(ctx, 0, most)
}

// Wrote looks at the error of a write.
func (s *Store) Wrote(ctx context.Context, err error) error { return s.wrote(ctx, err) }

// AgeDisk makes the last answer about the disk older.
func (s *Store) AgeDisk(by time.Duration) { s.disk.at = s.disk.at.Add(-by) }
