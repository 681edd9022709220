package postgres

import (
	"context"

	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// RanOut counts the attempts of a task before this one that failed for want of memory or disk.
func (s *Store) RanOut(ctx context.Context, taskID string, before int) (int, error) {
	n, err := s.q.RanOut(ctx, db.RanOutParams{TaskID: taskID, Before: before, FailureClass: string(task.ClassResources)})
	return int(n), translate("count what attempts of task "+taskID+" ran out", err)
}
