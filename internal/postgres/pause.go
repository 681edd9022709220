package postgres

import "context"

// SetPaused stops the new tasks of all organizations, or lets them go on: what waits is told at once, and let in by the gate.
// Tasks that run are left alone.
func (s *Store) SetPaused(ctx context.Context, paused bool) error {
	tag, err := s.pool.Exec(ctx, "UPDATE organizations SET paused = $1 WHERE paused <> $1", paused)
	if err == nil && (tag.RowsAffected() > 0 || !paused) {
		_, err = s.pool.Exec(ctx, "SELECT omoi_admit_all(o.id) FROM (SELECT id FROM organizations ORDER BY id) o")
	}
	return translate("pause or resume all organizations", err)
}
