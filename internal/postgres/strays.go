package postgres

import (
	"context"

	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

const (
	// leftByReset is why an attempt ends whose workflow was reset to a point before it.
	leftByReset = "The task's workflow was reset to a point before this attempt, so another one takes its place."
	// leftAtEnd is why an attempt ends that its task has ended without.
	leftAtEnd = "The task ended without this attempt: its workflow was reset."
)

// endOthers ends what a run before this one began and left open: two attempts of a task are never open at once, and one
// that is over is waited for and cleaned up like any other.
func (b *beginning) endOthers(ctx context.Context) error {
	return b.q.EndOpenAttempts(ctx, db.EndOpenAttemptsParams{
		TaskID: b.row.ID, FailureClass: string(task.ClassInfrastructure), Reason: leftByReset,
	})
}

// endOthers ends, with the task, what another run left open.
func (w *projecting) endOthers(ctx context.Context) error {
	if !w.p.Status.Final() {
		return nil
	}
	return w.q.EndOpenAttempts(ctx, db.EndOpenAttemptsParams{
		TaskID: w.row.ID, FailureClass: string(task.ClassInfrastructure), Reason: leftAtEnd,
	})
}

// EndStrays ends attempts that are open though their task is over or has a later attempt, so that
// their sandboxes are cleaned up. There should be none.
func (s *Store) EndStrays(ctx context.Context) error {
	return translate("end stray attempts", s.q.EndStrayAttempts(ctx, db.EndStrayAttemptsParams{
		FailureClass: string(task.ClassInfrastructure), AtEnd: leftAtEnd, ByReset: leftByReset,
	}))
}
