package postgres

import "context"

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
