package postgres

import (
	"context"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// Judgements lists guardian analyses, newest first.
func (s *Store) Judgements(ctx context.Context, organizationID string, q client.GuardianQuery) (client.Page[guardian.Analysis], error) {
	page, err := pageOf(q.PageRequest, func(p place) ([]db.GuardianAnalysis, error) {
		return s.q.Analyses(ctx, db.AnalysesParams{OrganizationID: organizationID, TaskIds: q.TaskIDs, BeforeAt: p.at, BeforeID: p.id, MaxRows: p.rows})
	}, judgementOf, func(j guardian.Analysis) (time.Time, string) { return j.JudgedAt, j.ID })
	if err == nil {
		err = s.rateAnalyses(ctx, page.Items)
	}
	return page, translate("list analyses", err)
}

// NewestJudgements returns the newest analysis of each sandbox that is at most fresh old.
func (s *Store) NewestJudgements(ctx context.Context, sandboxIDs []string, fresh time.Duration) ([]guardian.Analysis, error) {
	rows, err := s.q.NewestAnalyses(ctx, sandboxIDs, fresh)
	return mapAll(rows, judgementOf), translate("read the newest analyses", err)
}

func judgementOf(r db.GuardianAnalysis) guardian.Analysis {
	return guardian.Analysis{
		ID: r.ID, CycleID: r.CycleID, SandboxID: r.SandboxID, OrganizationID: r.OrganizationID, TaskID: r.TaskID, Attempt: r.Attempt,
		SpokenBy: r.SpokenBy, Verdict: r.Verdict, AlignmentScore: r.AlignmentScore, NeedsSteering: r.NeedsSteering, SteeringType: r.SteeringType,
		CurrentFocus: r.CurrentFocus, Confidence: r.Confidence, FirstSeen: r.FirstSeen, LastSeen: r.LastSeen, Analysis: r.Analysis, Subject: r.Subject,
		Rules: r.Rules, JudgedAt: r.JudgedAt.UTC(), Ratings: []guardian.Rating{},
	}
}

// Interventions lists interventions with their delivery and command receipts, newest first.
func (s *Store) Interventions(ctx context.Context, organizationID string, q client.GuardianQuery) (client.Page[guardian.Intervention], error) {
	page, err := pageOf(q.PageRequest, func(p place) ([]db.InterventionsRow, error) {
		return s.q.Interventions(ctx, db.InterventionsParams{
			OrganizationID: organizationID, TaskIds: q.TaskIDs, BeforeAt: p.at, BeforeID: p.id, MaxRows: p.rows,
		})
	}, withReceipts, func(i guardian.Intervention) (time.Time, string) { return i.PlannedAt, i.ID })
	if err == nil {
		err = s.rateInterventions(ctx, page.Items)
	}
	return page, translate("list interventions", err)
}

func withReceipts(r db.InterventionsRow) guardian.Intervention {
	iv := interventionOf(r.Intervention)
	iv.TaskKey, iv.MessageState, iv.CommandState = r.TaskKey, messageNames().named(r.MessageState), r.CommandState
	return iv
}

// Steered counts the interventions that were sent to agents of an organization.
func (s *Store) Steered(ctx context.Context, organizationID string) (int64, error) {
	n, err := s.q.CountSteered(ctx, organizationID)
	return n, translate("count interventions", err)
}

// Active returns the active sandboxes of an organization with the phases of their tasks.
func (s *Store) Active(ctx context.Context, organizationID string) ([]guardian.ActiveSandbox, error) {
	rows, err := s.q.ActiveOf(ctx, organizationID)
	return mapAll(rows, func(r db.ActiveOfRow) guardian.ActiveSandbox { return guardian.ActiveSandbox(r) }), translate("list active sandboxes", err)
}

// Resolve returns the active sandbox of an ID: of a sandbox, else of a task, else of an agent. Errors:
// [task.CodeNotFound] if there is none, [task.CodeConflict] if two agents reported the ID.
func (s *Store) Resolve(ctx context.Context, organizationID, id string) (string, error) {
	return resolve(ctx, s.q, db.ActiveByAnyIDParams{OrganizationID: organizationID, ID: id})
}

func resolve(ctx context.Context, q *db.Queries, of db.ActiveByAnyIDParams) (string, error) {
	found, err := q.ActiveByAnyID(ctx, of)
	switch {
	case err != nil:
		return "", translate("find agent "+clip(of.ID), err)
	case len(found) == 0:
		return "", task.Errorf(task.CodeNotFound, "Cannot analyze agent %s: it has no running attempt. Next: omoi sandbox list", clip(of.ID))
	case len(found) == 2 && found[0].Rank == found[1].Rank:
		return "", task.Errorf(task.CodeConflict, "Agent ID %s is ambiguous: several active agents reported it. Next: use the ID of a sandbox or a task.", clip(of.ID))
	}
	return found[0].ID, nil
}

// Cycles returns the statistics of the guardian's cycles.
func (s *Store) Cycles(ctx context.Context) (guardian.Cycles, error) {
	counts, err := s.q.CycleCounts(ctx)
	if err != nil {
		return guardian.Cycles{}, translate("count cycles", err)
	}
	out := guardian.Cycles{LastAge: age(counts.LastAge), Total: counts.Total, Succeeded: counts.Succeeded, Failed: counts.Failed}
	last, err := s.q.LastCycle(ctx)
	if len(last) > 0 {
		c := last[0]
		out.Last = &guardian.Cycle{
			ID: c.ID, StartedAt: c.StartedAt.UTC(), EndedAt: c.EndedAt, Active: c.Active, Analyzed: c.Judged,
			Fresh: c.Standing, Failed: c.Failed, Interventions: c.Acted,
		}
	}
	return out, translate("read the last cycle", err)
}

// Unwatched returns how long agents have been active without a cycle of watcher, guardian or conductor; below 0: no
// agent is active.
func (s *Store) Unwatched(ctx context.Context, watcher string) (time.Duration, error) {
	seconds, err := s.q.Unwatched(ctx, watcher)
	return age(seconds), translate("read the last cycle of the "+watcher+" last ran", err)
}
