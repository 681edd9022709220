package api

import (
	"context"
	"encoding/json"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/conductor"
)

// Conducting reads conductor analyses, and the open tasks with which new tasks are compared.
type Conducting interface {
	ConductorAnalyses(
		ctx context.Context, organizationID string, p client.PageRequest,
	) (client.Page[conductor.Analysis], error)
	Duplicates(
		ctx context.Context, organizationID string, q client.GuardianQuery,
	) (client.Page[conductor.Duplicate], error)
	ConductorAge(ctx context.Context) (time.Duration, error)
	ConductorHour(ctx context.Context, organizationID string) (conductor.Hour, error)
	OpenWork(ctx context.Context, q conductor.WorkQuery) ([]conductor.OpenWork, error)
}

func (a *API) registerConductor() {
	all := a.group(tagGuardian, "/api/v1/conductor")
	add(all.on(accessRead, "GET /analyses", "list-conductor-analyses", "List conductor analyses"),
		listed(a.deps.Conducting.ConductorAnalyses),
		details{more: "Stored analyses of all active agents of the caller's organization together, newest first."})
	add(all.on(accessRead, "GET /duplicates", "list-duplicates", "List duplicate tasks"),
		listed(a.deps.Conducting.Duplicates), details{more: "Pairs of tasks of one project about the same work, last found first. Pairs stay when their tasks end."})
}

// conductorStatus returns whether the conductor runs, and its latest analysis of the caller's organization.
func (a *API) conductorStatus(ctx context.Context) (client.ConductorStatus, error) {
	found, err := a.scheduleOf(ctx, scheduleConductor)
	if err != nil {
		return client.ConductorStatus{}, err
	}
	s := client.ConductorStatus{
		Running: found.Exists && !found.Paused, PausedIdle: found.PausedIdle, Schedule: found,
	}
	age, err := a.deps.Conducting.ConductorAge(ctx)
	if err != nil {
		return s, err
	}
	if seconds := age.Seconds(); seconds >= 0 {
		s.LastRunAge = &seconds
	}
	s.Last, err = a.lastConducted(ctx)
	return s, err
}

func (a *API) lastConducted(ctx context.Context) (*client.ConductorAnalysis, error) {
	page, err := a.deps.Conducting.ConductorAnalyses(ctx, callerOf(ctx).organization, client.PageRequest{Limit: 1})
	if err != nil || len(page.Items) == 0 {
		return nil, err
	}
	return &page.Items[0], nil
}

// neverConducted is the status of an organization that the conductor has not analyzed.
const neverConducted = "not_run"

// together adds the latest conductor analysis to h.
func (a *API) together(ctx context.Context, h *client.MonitorHealth) error {
	h.Status, h.Recommendations = neverConducted, []string{}
	hour, err := a.deps.Conducting.ConductorHour(ctx, callerOf(ctx).organization)
	if err != nil {
		return err
	}
	h.RecentDuplicates, h.MeanCoherence = hour.Duplicates, hour.Coherence
	last, err := a.lastConducted(ctx)
	if err != nil || last == nil {
		return err
	}
	var details struct {
		Recommendations []string `json:"recommendations"`
	}
	_ = json.Unmarshal(last.Details, &details) // written by omoi; missing fields stay empty
	h.Status, h.Coherence, h.Recommendations = last.Status, last.Coherence, orNone(details.Recommendations)
	return nil
}
