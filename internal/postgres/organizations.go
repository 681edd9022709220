package postgres

import (
	"cmp"
	"context"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// Organizations returns all organizations, or the one with the given ID, oldest first.
func (s *Store) Organizations(ctx context.Context, id string) ([]client.Organization, error) {
	rows, err := s.q.OrganizationsShown(ctx, orNull(id))
	return mapAll(rows, organizationOf), translate("list organizations", err)
}

func organizationOf(r db.OrganizationsShownRow) client.Organization {
	return client.Organization{
		ID: r.ID, Name: r.Name, Plan: r.Plan, RunningTasks: r.AtWork, QueuedTasks: r.Waiting, Paused: r.Paused,
		MaxSlots: r.MaxSlots, ConcurrencyLimit: cmp.Or(r.MaxSlots, r.PlanSlots),
	}
}

// ChangeOrganization changes plan and concurrency limit, and runs admission.
func (s *Store) ChangeOrganization(ctx context.Context, id string, c client.UpdateOrganizationRequest) (client.Organization, error) {
	in := db.ChangeOrganizationParams{ID: id, Plan: c.Plan, MaxSlots: c.MaxSlots}
	if c.Plan != nil {
		if slots, limited := task.PlanSlots(*c.Plan); limited {
			in.PlanSlots = new(slots)
		}
	}
	err := s.inTx(ctx, func(q *db.Queries) error {
		n, err := q.ChangeOrganization(ctx, in)
		if err != nil || n == 0 {
			return err
		}
		return admitAll(ctx, q, id)
	})
	if err != nil {
		return client.Organization{}, translate("change organization "+id, err)
	}
	found, err := s.Organizations(ctx, id)
	if err == nil && len(found) == 0 {
		err = task.Errorf(task.CodeNotFound, "Unknown organization %s.", id)
	}
	if err != nil {
		return client.Organization{}, err
	}
	return found[0], nil
}
