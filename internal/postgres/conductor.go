package postgres

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/conductor"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/task"
)

// ConductedOrganizations returns the organizations with active agents whose IDs are above after and at most upto, in
// order of their IDs; both bounds may be empty.
func (s *Store) ConductedOrganizations(ctx context.Context, cycleID, after, upto string) ([]conductor.ActiveOrganization, error) {
	rows, err := s.q.ConductedOrganizations(ctx, db.ConductedOrganizationsParams{CycleID: cycleID, After: orNull(after), Upto: orNull(upto)})
	return mapAll(rows, func(r db.ConductedOrganizationsRow) conductor.ActiveOrganization {
		return conductor.ActiveOrganization{ID: r.OrganizationID, Agents: int(r.Agents), InCycle: r.InCycle}
	}), translate("list organizations with active agents", err)
}

// ConductedAgents returns the active agents of an organization, with the files that their newest events report as
// changed, open dependencies, and guardian analyses of at most the age fresh.
func (s *Store) ConductedAgents(ctx context.Context, organizationID string, fresh time.Duration, newest int) ([]conductor.ActiveAgent, error) {
	rows, err := s.q.ConductedAgents(ctx, fresh, organizationID)
	if err != nil || len(rows) == 0 {
		return nil, translate("read active agents", err)
	}
	in := db.ChangedFilesParams{Newest: int64(newest), Edited: event.AgentFileEdited}
	for _, r := range rows {
		in.Ids, in.PartitionMonths, in.LastSequences = append(in.Ids, r.SandboxID), append(in.PartitionMonths, r.PartitionMonth), append(in.LastSequences, r.LastSequence)
	}
	agents := mapAll(rows, activeAgent)
	if err := s.addFiles(ctx, agents, in); err != nil {
		return nil, translate("read changed files", err)
	}
	return agents, translate("read open dependencies", s.addDependencies(ctx, agents))
}

func activeAgent(r db.ConductedAgentsRow) conductor.ActiveAgent {
	a := conductor.ActiveAgent{
		SandboxID: r.SandboxID, Title: r.Title, Description: r.Description,
		Agent: supervise.Agent{
			TaskID: r.TaskID, Key: r.TaskKey, Attempt: r.Attempt, ProjectID: r.ProjectID, Comparison: r.Comparison, Phase: r.PhaseID, Known: r.Known, Caught: r.Caught, Score: r.Score,
			Aligned: r.Aligned, Steer: r.Steer, Ended: r.Ended, Focus: r.Focus, Silent: silentBy(r), Edits: map[string]int64{},
		},
	}
	_ = json.Unmarshal(r.Outside, &a.Outside) // another form has no findings
	a.Outside = slices.DeleteFunc(a.Outside, func(f supervise.Finding) bool { return f.Confidence < supervise.DefaultSettings().Confidence })
	return a
}

// silentBy returns why the alignment of an agent is unknown.
func silentBy(r db.ConductedAgentsRow) string {
	switch {
	case r.Known:
		return ""
	case r.SpokenBy == "":
		return supervise.UnknownNotAnalyzed
	case r.SpokenBy == string(supervise.ByModel):
		return supervise.UnknownNotSure
	case r.Trouble != "":
		return supervise.UnknownModelFailed
	}
	return supervise.UnknownNoModel
}

func (s *Store) addFiles(ctx context.Context, agents []conductor.ActiveAgent, in db.ChangedFilesParams) error {
	files, err := s.q.ChangedFiles(ctx, in)
	of := make(map[string]*conductor.ActiveAgent, len(agents))
	for n := range agents {
		of[agents[n].SandboxID] = &agents[n]
	}
	for _, f := range files {
		a := of[f.SandboxID]
		a.Files, a.Edits[f.Path] = append(a.Files, f.Path), f.Sequence
	}
	return err
}

func (s *Store) addDependencies(ctx context.Context, agents []conductor.ActiveAgent) error {
	rows, err := s.q.OpenDependencies(ctx, mapAll(agents, func(a conductor.ActiveAgent) string { return a.TaskID }))
	for _, r := range rows {
		at := slices.IndexFunc(agents, func(a conductor.ActiveAgent) bool { return a.TaskID == r.TaskID })
		agents[at].Waits = append(agents[at].Waits, supervise.Dependency{TaskID: r.DependsOn, Key: r.Key, Status: r.Status})
	}
	return err
}

// Compared returns the pairs of these tasks that a model has compared before.
func (s *Store) Compared(ctx context.Context, organizationID string, taskIDs []string) ([]conductor.Duplicate, error) {
	rows, err := s.q.ToldApart(ctx, organizationID, taskIDs)
	return mapAll(rows, func(r db.ToldApartRow) conductor.Duplicate {
		return conductor.Duplicate{
			ID: r.ID, TaskID: r.Task1ID, OtherID: r.Task2ID, Same: r.IsDuplicate, Source: conductor.SourceModel, Similarity: r.SimilarityScore, Work: r.WorkDescription,
		}
	}), translate("read compared pairs", err)
}

// SaveConducted stores an analysis once for its cycle and organization, with the compared pairs, and reports whether it
// was stored.
func (s *Store) SaveConducted(ctx context.Context, a conductor.Analysis, pairs []conductor.Duplicate) (saved bool, err error) {
	err = s.inTx(ctx, func(q *db.Queries) error {
		n, err := q.InsertConducted(ctx, db.InsertConductedParams{
			ID: a.ID, CycleID: a.CycleID, OrganizationID: a.OrganizationID, CoherenceScore: a.Coherence, CoherenceAtMost: a.AtMost,
			SystemStatus: a.Status, NumAgents: a.Agents, Judged: a.Analyzed, DuplicateCount: a.Duplicates,
			TerminationCount: a.Terminations, CoordinationCount: a.Coordinations, Details: a.Details,
		})
		if saved = n > 0; err != nil || !saved {
			return err
		}
		for _, p := range pairs {
			if err := linkDuplicate(ctx, q, a, p); err != nil {
				return err
			}
		}
		return tellConducted(ctx, q, a)
	})
	return saved, translate("store the analysis of organization "+a.OrganizationID, err)
}

// linkDuplicate writes a pair with its IDs in ascending order.
func linkDuplicate(ctx context.Context, q *db.Queries, a conductor.Analysis, p conductor.Duplicate) error {
	if p.TaskID > p.OtherID {
		p.TaskID, p.OtherID, p.SandboxID, p.OtherBox = p.OtherID, p.TaskID, p.OtherBox, p.SandboxID
	}
	return q.LinkDuplicate(ctx, db.LinkDuplicateParams{
		ID: task.NewID(), ConductorAnalysisID: &a.ID, OrganizationID: a.OrganizationID, Task1ID: p.TaskID, Task2ID: p.OtherID,
		Agent1ID: p.SandboxID, Agent2ID: p.OtherBox, IsDuplicate: p.Same, SpokenBy: sourceNames().stored(p.Source), SimilarityScore: p.Similarity,
		WorkDescription: storable(p.Work), Resources: objectOr(p.Resources),
	})
}

// tellConducted writes the bus event that OmoiOS sent for an analysis.
func tellConducted(ctx context.Context, q *db.Queries, a conductor.Analysis) error {
	return q.TellSteering(ctx, db.TellSteeringParams{
		OrganizationID: &a.OrganizationID, EventType: "monitoring.conductor.analysis", EntityType: "conductor", EntityID: a.ID,
		Payload: jsonOf(map[string]any{"coherence_score": a.Coherence, "system_status": a.Status, "duplicate_count": a.Duplicates}),
	})
}

// EndConductorCycle records that a cycle of the conductor ended, and deletes analyses older than keep.
func (s *Store) EndConductorCycle(ctx context.Context, keep time.Duration) error {
	if err := s.q.ConductorRan(ctx); err != nil {
		return translate("record a cycle of the conductor", err)
	}
	return translate("delete old analyses of the conductor", s.q.ForgetConducted(ctx, keep))
}

// ConductorAge returns the time since the last completed cycle of the conductor; below 0: none.
func (s *Store) ConductorAge(ctx context.Context) (time.Duration, error) {
	seconds, err := s.q.ConductorAge(ctx)
	return age(seconds), translate("read the last cycle of the conductor", err)
}

// ConductorAnalyses lists the analyses of an organization, newest first.
func (s *Store) ConductorAnalyses(ctx context.Context, organizationID string, p client.PageRequest) (client.Page[conductor.Analysis], error) {
	page, err := pageOf(p, func(p place) ([]db.ConductorAnalysis, error) {
		return s.q.ConductorAnalyses(ctx, db.ConductorAnalysesParams{OrganizationID: organizationID, BeforeAt: p.at, BeforeID: p.id, MaxRows: p.rows})
	}, conductedOf, func(a conductor.Analysis) (time.Time, string) { return a.CreatedAt, a.ID })
	return page, translate("list analyses of the conductor", err)
}

func conductedOf(r db.ConductorAnalysis) conductor.Analysis {
	return conductor.Analysis{
		ID: r.ID, CycleID: r.CycleID, OrganizationID: r.OrganizationID, Coherence: r.CoherenceScore, AtMost: r.CoherenceAtMost, Status: r.SystemStatus,
		Agents: r.NumAgents, Analyzed: r.Judged, Duplicates: r.DuplicateCount, Terminations: r.TerminationCount,
		Coordinations: r.CoordinationCount, Details: r.Details, CreatedAt: r.CreatedAt.UTC(),
	}
}

// Duplicates lists pairs of tasks about the same work, newest first, of some tasks or of all.
func (s *Store) Duplicates(ctx context.Context, organizationID string, q client.GuardianQuery) (client.Page[conductor.Duplicate], error) {
	page, err := pageOf(q.PageRequest, func(p place) ([]db.DuplicatesRow, error) {
		return s.q.Duplicates(ctx, db.DuplicatesParams{
			OrganizationID: organizationID, TaskIds: q.TaskIDs, BeforeAt: p.at, BeforeID: p.id, MaxRows: p.rows,
		})
	}, func(r db.DuplicatesRow) conductor.Duplicate {
		d := duplicateOf(r.DetectedDuplicate)
		d.TaskKey, d.OtherKey = r.Key1, r.Key2
		d.Title, d.OtherTitle, d.Status, d.OtherState = r.Title1, r.Title2, task.Status(r.Status1), task.Status(r.Status2)
		return d
	}, func(d conductor.Duplicate) (time.Time, string) { return d.SeenAt, d.ID })
	return page, translate("list duplicates", err)
}

func duplicateOf(r db.DetectedDuplicate) conductor.Duplicate {
	return conductor.Duplicate{
		ID: r.ID, AnalysisID: r.ConductorAnalysisID, TaskID: r.Task1ID, OtherID: r.Task2ID, SandboxID: r.Agent1ID, OtherBox: r.Agent2ID,
		Source: sourceNames().named(r.SpokenBy), Similarity: r.SimilarityScore, Work: r.WorkDescription, Resources: r.Resources, Cycles: r.Cycles,
		CreatedAt: r.CreatedAt.UTC(), SeenAt: r.SeenAt.UTC(), Same: r.IsDuplicate,
	}
}

// ConductorHour summarizes the analyses of an organization of the last hour.
func (s *Store) ConductorHour(ctx context.Context, organizationID string) (conductor.Hour, error) {
	r, err := s.q.ConductorHour(ctx, organizationID)
	out := conductor.Hour{Duplicates: int(r.Duplicates)}
	if r.Coherence >= 0 {
		out.Coherence = &r.Coherence
	}
	return out, translate("summarize the conductor's last hour", err)
}

// OpenWork returns tasks that have not ended, newest first.
func (s *Store) OpenWork(ctx context.Context, q conductor.WorkQuery) ([]conductor.OpenWork, error) {
	rows, err := s.q.OpenWork(ctx, db.OpenWorkParams{
		OrganizationID: q.OrganizationID, ProjectID: orNull(q.ProjectID), TicketID: orNull(q.TicketID), Repo: q.Repo, Key: q.IdempotencyKey, Most: q.Limit,
	})
	return mapAll(rows, func(r db.OpenWorkRow) conductor.OpenWork {
		return conductor.OpenWork{TaskID: r.ID, TicketID: r.TicketID, Title: r.Title, Description: r.Description, Status: task.Status(r.Status)}
	}), translate("read tasks that have not ended", err)
}
