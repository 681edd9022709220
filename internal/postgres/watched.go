package postgres

import (
	"context"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/spec"
)

// ActiveLife returns the activity of each active sandbox of an organization, oldest first.
func (s *Store) ActiveLife(ctx context.Context, organizationID string) ([]client.Life, error) {
	rows, err := s.q.ActiveLife(ctx, db.ActiveLifeParams{
		OrganizationID: organizationID, Heartbeats: event.Types(event.Liveness), Completed: event.AgentCompleted,
	})
	if err != nil {
		return nil, translate("read the activity of active sandboxes", err)
	}
	out := make([]client.Life, len(rows))
	for n, r := range rows {
		if out[n], err = lifeOf(r); err != nil {
			return nil, translate("read the phases of sandbox "+r.ID, err)
		}
	}
	return out, nil
}

func lifeOf(r db.ActiveLifeRow) (client.Life, error) {
	a := client.Activity{SandboxID: r.ID, HeartbeatStatus: orNull(r.BeatStatus), HasCompleted: r.Completed}
	if r.Beats {
		a.LastHeartbeatAt = utc(r.BeatAt)
	}
	judge(&a, db.LastActivityRow{LastWorkAt: r.LastWorkAt, Now: r.Now})
	if !r.Spec {
		return client.Life{Activity: a, Phases: spec.ReadPhases(r.ID, nil, r.Now)}, nil
	}
	p, err := specProgress(db.SpecProgressRow{
		SpecID: r.SpecID, Status: r.Status, CurrentPhase: r.CurrentPhase, Progress: r.Progress, Started: r.Started, Completed: r.Phases,
		LastCompleted: r.LastCompleted, LastCompletedAt: r.LastCompletedAt, ExecutionCompletedAt: r.ExecutionCompletedAt,
		ExecutionFailedAt: r.ExecutionFailedAt, Criteria: r.Criteria, Now: r.Now,
	})
	return client.Life{Activity: a, Phases: spec.ReadPhases(r.ID, p, r.Now)}, err
}
