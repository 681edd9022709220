package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/task"
)

// BeginGuardianCycle records the start of a cycle and returns the IDs of the active sandboxes in order. Planned
// interventions of interrupted cycles expire after stale, because a late message no longer fits.
func (s *Store) BeginGuardianCycle(ctx context.Context, id string, stale time.Duration) ([]string, error) {
	if _, err := s.q.BeginGuardianCycle(ctx, id); err != nil {
		return nil, translate("begin guardian cycle "+id, err)
	}
	if err := s.q.ExpireInterventions(ctx, stale); err != nil {
		return nil, translate("expire interventions", err)
	}
	ids, err := s.q.ActiveSandboxIDs(ctx)
	return ids, translate("list active sandboxes", err)
}

// EndGuardianCycle records the end of a cycle. Cycles older than keep are deleted, and so are analyses of that age that
// led to no intervention.
func (s *Store) EndGuardianCycle(ctx context.Context, c guardian.Cycle, keep time.Duration) error {
	err := s.q.EndGuardianCycle(ctx, db.EndGuardianCycleParams{
		ID: c.ID, Active: c.Active, Judged: c.Analyzed, Standing: c.Fresh,
		Failed: c.Failed, Acted: c.Interventions,
	})
	if err != nil {
		return translate("end guardian cycle "+c.ID, err)
	}
	if err := s.q.ForgetAnalyses(ctx, keep); err != nil {
		return translate("delete old analyses", err)
	}
	return translate("delete old cycles", s.q.ForgetCycles(ctx, keep))
}

// Watched returns active sandboxes in order of their IDs.
func (s *Store) Watched(ctx context.Context, q guardian.WatchQuery) ([]guardian.Watched, error) {
	rows, err := s.q.WatchedSandboxes(ctx, db.WatchedSandboxesParams{
		CycleID: q.CycleID, After: q.After, Upto: q.Upto, One: q.Only, Most: q.Limit,
	})
	if err != nil {
		return nil, translate("read active sandboxes", err)
	}
	out := make([]guardian.Watched, 0, len(rows))
	for _, row := range rows {
		w, err := watched(row)
		if err != nil {
			return nil, err
		}
		out = append(out, w)
	}
	return out, s.readSaid(ctx, out)
}

// readSaid adds the messages of users that agents acknowledged.
func (s *Store) readSaid(ctx context.Context, all []guardian.Watched) error {
	if len(all) == 0 {
		return nil
	}
	at := make(map[string]*guardian.Watched, len(all))
	for i := range all {
		at[all[i].SandboxID] = &all[i]
	}
	rows, err := s.q.WordsOfPeople(ctx, slices.Collect(maps.Keys(at)), ingest.AllowScope)
	for _, r := range rows {
		w := at[r.SandboxID]
		w.Said = append(w.Said, supervise.Said{ID: r.ID, Text: r.Words, Allows: r.Allows})
	}
	return translate("read messages of users", err)
}

func watched(row db.WatchedSandboxesRow) (guardian.Watched, error) {
	w := guardian.Watched{
		SandboxID: row.ID, TaskID: row.TaskID, ProjectID: row.ProjectID, OrganizationID: row.OrganizationID, Attempt: row.Attempt,
		PartitionMonth: row.PartitionMonth, Head: row.LastSequence, Title: row.Title, Description: row.Description, TaskType: row.TaskType, Mode: row.Mode,
		Agent: row.Agent, PhaseID: row.PhaseID, Execution: row.ExecutionConfig, Settings: row.Settings, CostUSD: row.CostUsd, Tokens: row.Tokens,
		Replacements: row.ReplacementCount, Age: age(row.Age), AutoSteering: row.AutoSteering, At: row.At,
		LastJudged: age(row.LastJudged), InCycle: row.InCycle,
	}
	if err := json.Unmarshal(row.Budget, &w.Budget); err != nil {
		return w, fmt.Errorf("read the budget of task %s: %w", row.TaskID, err)
	}
	if err := json.Unmarshal(row.Contract, &w.Contract); err != nil {
		return w, fmt.Errorf("read the contract of task %s: %w", row.TaskID, err)
	}
	if err := json.Unmarshal(row.Counters, &w.Counts); err != nil {
		return w, fmt.Errorf("read the counters of sandbox %s: %w", row.ID, err)
	}
	if len(w.Counts) == 0 { // no event is relayed yet
		w.Counts = nil
	}
	return w, nil
}

// WatchedEvents returns up to newest events of each sandbox, oldest first, with its newest heartbeat if that is recent.
// One query reads all of them.
func (s *Store) WatchedEvents(ctx context.Context, of []guardian.Watched, newest int) (map[string][]event.Event, error) {
	in := db.WatchedEventsParams{Newest: newest, Heartbeats: event.Types(event.Liveness)}
	for _, w := range of {
		in.Ids, in.PartitionMonths, in.LastSequences = append(in.Ids, w.SandboxID), append(in.PartitionMonths, w.PartitionMonth), append(in.LastSequences, w.Head)
	}
	rows, err := s.q.WatchedEvents(ctx, in)
	if err != nil {
		return nil, translate("read the newest events", err)
	}
	spans, err := s.q.FrozenSince(ctx, frozenLookback)
	out := make(map[string][]event.Event, len(of))
	for _, r := range rows {
		one := event.Event{SandboxID: r.SandboxID, Sequence: r.Sequence, Type: r.EventType, Data: r.EventData, CreatedAt: r.CreatedAt}
		if r.Freezes {
			one.CreatedAt = thawedAt(r.CreatedAt, spans)
		}
		out[r.SandboxID] = append(out[r.SandboxID], one)
	}
	return out, translate("read when sandboxes were frozen", err)
}

// frozenLookback is longer than any attempt.
const frozenLookback = 7 * 24 * time.Hour

// thawedAt adds the time for which sandboxes were frozen since an event, so that its age excludes that time.
func thawedAt(at time.Time, spans []db.FrozenSinceRow) time.Time {
	var frozen time.Duration
	for _, s := range spans {
		frozen += max(min(s.Until.Sub(at), s.Until.Sub(s.Since)), 0)
	}
	return at.Add(frozen)
}

// SaveAnalysis stores an analysis, unless its cycle has one of the sandbox, and in the same transaction the
// intervention that plan returns, if any. plan gets the earlier interventions of the attempt, newest first. A retry of
// the transaction calls plan again.
func (s *Store) SaveAnalysis(ctx context.Context, j guardian.Analysis, iv guardian.Intervention, plan func([]guardian.PastIntervention) (guardian.PlannedIntervention, bool)) (planned guardian.Intervention, saved bool, err error) {
	j.CurrentFocus = storable(j.CurrentFocus)
	err = s.inTx(ctx, func(q *db.Queries) error {
		planned, saved = guardian.Intervention{}, false
		if j.NeedsSteering {
			if err := q.LockSteering(ctx, j.SandboxID); err != nil {
				return err
			}
		}
		n, err := q.InsertAnalysis(ctx, analysisRow(j))
		if err != nil || n == 0 {
			return err
		}
		saved = true
		if j.NeedsSteering {
			planned, err = planIntervention(ctx, q, iv, plan)
		}
		return err
	})
	return planned, saved, translate("store the analysis of sandbox "+j.SandboxID, err)
}

func analysisRow(j guardian.Analysis) db.InsertAnalysisParams {
	return db.InsertAnalysisParams{
		ID: j.ID, CycleID: j.CycleID, SandboxID: j.SandboxID, OrganizationID: j.OrganizationID, TaskID: j.TaskID, Attempt: j.Attempt,
		SpokenBy: j.SpokenBy, Verdict: j.Verdict, AlignmentScore: j.AlignmentScore, NeedsSteering: j.NeedsSteering, SteeringType: j.SteeringType,
		CurrentFocus: j.CurrentFocus, Confidence: j.Confidence, FirstSeen: j.FirstSeen, LastSeen: j.LastSeen, Analysis: j.Analysis, Subject: j.Subject,
		Rules: j.Rules, JudgedAt: j.JudgedAt,
	}
}

// planIntervention stores the intervention that plan returns, if any.
func planIntervention(ctx context.Context, q *db.Queries, iv guardian.Intervention, plan func([]guardian.PastIntervention) (guardian.PlannedIntervention, bool)) (guardian.Intervention, error) {
	rows, err := q.PastInterventions(ctx, iv.SandboxID, iv.Shadow)
	if err != nil {
		return guardian.Intervention{}, err
	}
	step, ok := plan(mapAll(rows, func(r db.PastInterventionsRow) guardian.PastIntervention {
		return guardian.PastIntervention{Level: guardian.Level(r.Level), Age: age(r.Age), Taken: r.Taken}
	}))
	if !ok {
		return guardian.Intervention{}, nil
	}
	iv.ID, iv.Level, iv.Reason, iv.State = task.DerivedID("intervention", iv.AnalysisID), step.Level, step.Reason, guardian.InterventionPlanned
	if iv.Shadow || step.Level == guardian.LevelObserve {
		iv.State = guardian.InterventionRecorded
	}
	err = q.InsertIntervention(ctx, db.InsertInterventionParams{
		ID: iv.ID, AnalysisID: iv.AnalysisID, OrganizationID: iv.OrganizationID, TaskID: iv.TaskID, SandboxID: iv.SandboxID,
		Attempt: iv.Attempt, Level: string(iv.Level), SteeringType: iv.SteeringType, Content: storable(iv.Content),
		Confidence: iv.Confidence, Shadow: iv.Shadow, State: iv.State, Reason: storable(iv.Reason),
	})
	return iv, err
}
