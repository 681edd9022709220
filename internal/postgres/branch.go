package postgres

import "context"

// SaveBranch notes the branch of a task and the commit from which it began, before the first
// attempt needs them. What is noted already stays; projections say the same later.
func (s *Store) SaveBranch(ctx context.Context, taskID, branch, base string) error {
	_, err := s.pool.Exec(ctx, `UPDATE tasks SET branch_name = coalesce(nullif(branch_name, ''), $2),
		base_commit = coalesce(nullif(base_commit, ''), $3), updated_at = now() WHERE id = $1`, taskID, branch, base)
	return translate("note branch of task "+taskID, err)
}
