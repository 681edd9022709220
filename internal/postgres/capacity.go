package postgres

import (
	"cmp"
	"context"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cost"
	"github.com/omoi-dev/omoi/internal/postgres/db"
)

// Capacity returns the slots, queued tasks and sandboxes of an organization.
func (s *Store) Capacity(ctx context.Context, organizationID string) (client.Capacity, error) {
	found, err := s.capacity(ctx, organizationID)
	return found, translate("count slots and sandboxes", err)
}

func (s *Store) capacity(ctx context.Context, organizationID string) (out client.Capacity, err error) {
	organizations, err := s.q.OrganizationsShown(ctx, &organizationID)
	if err != nil {
		return out, err
	}
	for _, o := range organizations { // one, or none
		out.RunningTasks, out.QueuedTasks, out.Paused, out.ConcurrencyLimit = o.AtWork, o.Waiting, o.Paused, cmp.Or(o.MaxSlots, o.PlanSlots)
	}
	if out.OldestQueuedAt, _, err = maybe(s.q.OldestQueued(ctx, organizationID)); err != nil {
		return out, err
	}
	projects, err := s.q.ProjectCapacities(ctx, organizationID)
	if err != nil {
		return out, err
	}
	out.Projects = mapAll(projects, projectCapacity)
	out.Sandboxes, err = s.sandboxCapacity(ctx, organizationID)
	return out, err
}

func (s *Store) sandboxCapacity(ctx context.Context, organizationID string) (client.SandboxCapacity, error) {
	row, err := s.q.SandboxCapacity(ctx, &organizationID)
	if err != nil {
		return client.SandboxCapacity{}, err
	}
	oldest, _, err := maybe(s.q.OldestUnverified(ctx, &organizationID))
	return client.SandboxCapacity{Running: row.Running, Unverified: row.Unverified, OldestUnverifiedAt: oldest, Lost: row.Lost}, err
}

func projectCapacity(r db.ProjectCapacitiesRow) client.ProjectCapacity {
	return client.ProjectCapacity{
		ID: r.ID, Key: r.Key, Name: r.Name, RunningTasks: r.Running, ConcurrencyLimit: r.MaxSlots, QueuedTasks: r.Queued, Paused: r.Paused,
	}
}

// UsageByDay returns the usage of attempts by the day on which they started.
func (s *Store) UsageByDay(ctx context.Context, organizationID string, query client.UsageQuery) (client.UsageByDay, error) {
	ids, err := s.q.UnmeteredOfOrganization(ctx, organizationID)
	if err = meter(ctx, s.q, ids, err); err != nil {
		return client.UsageByDay{}, translate("update usage", err)
	}
	first := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-query.Days)
	rows, err := s.q.UsageByDay(ctx, db.UsageByDayParams{OrganizationID: &organizationID, Since: first, ProjectIds: query.ProjectIDs})
	return usageByDay(first, query.Days, rows), translate("sum usage by day", err)
}

// usageByDay adds the days without usage.
func usageByDay(first time.Time, days int, rows []db.UsageByDayRow) client.UsageByDay {
	var out client.UsageByDay
	var all db.UsageByDayRow
	for n := range days {
		row := db.UsageByDayRow{Day: first.AddDate(0, 0, n)}
		if len(rows) > 0 && rows[0].Day.Equal(row.Day) {
			row, rows = rows[0], rows[1:]
		}
		out.Days = append(out.Days, dayUsage(row))
		all.Attempts, all.Tokens, all.Usd, all.CostUnknown = all.Attempts+row.Attempts, all.Tokens+row.Tokens, all.Usd+row.Usd, all.CostUnknown || row.CostUnknown
	}
	all.Day = first
	out.Total = dayUsage(all)
	return out
}

func dayUsage(r db.UsageByDayRow) client.DayUsage {
	return client.DayUsage{
		Day: r.Day.Format(time.DateOnly), Attempts: r.Attempts, Tokens: r.Tokens, USD: cost.Known(r.Usd, r.CostUnknown), CostUnknown: r.CostUnknown,
	}
}
