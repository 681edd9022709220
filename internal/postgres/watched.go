package postgres

import (
	"context"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// ActiveLife answers what is known of the life in each active sandbox of an organization, oldest first.
func (s *Store) ActiveLife(ctx context.Context, organizationID string) ([]task.Life, error) {
	rows, err := s.q.ActiveLife(ctx, db.ActiveLifeParams{
		OrganizationID: organizationID, Heartbeats: event.Types(event.Beat), Completed: event.AgentCompleted,
	})
	if err != nil {
		return nil, translate("read the life in active sandboxes", err)
	}
	out := make([]task.Life, len(rows))
	for n, r := range rows {
		if out[n], err = lifeOf(r); err != nil {
			return nil, translate("read the phases of sandbox "+r.ID, err)
		}
	}
	return out, nil
}

func lifeOf(r db.ActiveLifeRow) (task.Life, error) {
	a := task.Activity{SandboxID: r.ID, HeartbeatStatus: orNull(r.BeatStatus), HasCompleted: r.Completed}
	if r.Beats {
		a.LastHeartbeatAt = utc(r.BeatAt)
	}
	judge(&a, db.LastActivityRow{LastWorkAt: r.LastWorkAt, Now: r.Now})
	if !r.Spec {
		return task.Life{Activity: a, Phases: task.ReadPhases(r.ID, nil, r.Now)}, nil
	}
	p, err := specProgress(db.SpecProgressRow{
		SpecID: r.SpecID, Status: r.Status, CurrentPhase: r.CurrentPhase, Progress: r.Progress, Started: r.Started, Completed: r.Phases,
		LastCompleted: r.LastCompleted, LastCompletedAt: r.LastCompletedAt, ExecutionCompletedAt: r.ExecutionCompletedAt,
		ExecutionFailedAt: r.ExecutionFailedAt, Criteria: r.Criteria, Now: r.Now,
	})
	return task.Life{Activity: a, Phases: task.ReadPhases(r.ID, p, r.Now)}, err
}
