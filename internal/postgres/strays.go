package postgres

import (
	"context"
	"encoding/json"

	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// openEnd ends the open attempts of a task, as failures of the infrastructure.
func openEnd(taskID string, code task.ReasonCode) db.EndOpenAttemptsParams {
	why := task.Reason{Code: code}
	return db.EndOpenAttemptsParams{
		TaskID: taskID, FailureClass: string(task.ClassInfrastructure), Reason: explain.Reason(why), EndReason: why.Stored(),
	}
}

// endOthers ends what a run before this one began and left open: two attempts of a task are never open at once, and one
// that is over is waited for and cleaned up like any other.
func (b *beginning) endOthers(ctx context.Context) error {
	return b.q.EndOpenAttempts(ctx, openEnd(b.row.ID, task.ReasonReset))
}

// endOthers ends, with the task, what another run left open.
func (w *projecting) endOthers(ctx context.Context) error {
	if !w.p.Status.Final() {
		return nil
	}
	return w.q.EndOpenAttempts(ctx, openEnd(w.row.ID, task.ReasonTaskEnded))
}

// EndStrays ends attempts that are open though their task is over or has a later attempt, so that
// their sandboxes are cleaned up. There should be none.
func (s *Store) EndStrays(ctx context.Context) error {
	over, reset := openEnd("", task.ReasonTaskEnded), openEnd("", task.ReasonReset)
	return translate("end stray attempts", s.q.EndStrayAttempts(ctx, db.EndStrayAttemptsParams{
		FailureClass: over.FailureClass, AtEnd: over.Reason, ByReset: reset.Reason,
		AtEndReason: json.RawMessage(over.EndReason), ByResetReason: json.RawMessage(reset.EndReason),
	}))
}
