package postgres

import "context"

// SetPaused stops an organization's new tasks, or lets them go on: what waits is told at once, and let in by the gate.
// Tasks that run are left alone.
func (s *Store) SetPaused(ctx context.Context, organizationID string, paused bool) error {
	tag, err := s.pool.Exec(ctx, "UPDATE organizations SET paused = $2 WHERE id = $1 AND paused <> $2", organizationID, paused)
	if err == nil && (tag.RowsAffected() > 0 || !paused) {
		_, err = s.pool.Exec(ctx, "SELECT omoi_grant($1)", organizationID)
	}
	return translate("pause or resume the organization", err)
}
