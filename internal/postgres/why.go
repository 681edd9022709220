package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

const (
	whyEvents = 60               // newest events of the newest attempt that an explanation uses
	whyFresh  = 30 * time.Minute // maximum age of a guardian analysis
)

// WhyFacts returns the data that explains the state of a task.
func (s *Store) WhyFacts(ctx context.Context, organizationID, taskID string) (explain.WhyFacts, error) {
	f := explain.WhyFacts{}
	var err error
	if f.Task, err = s.Task(ctx, organizationID, taskID); err != nil {
		return f, err
	}
	if f.At, err = s.q.ClockNow(ctx); err != nil {
		return f, translate("read the time", err)
	}
	for _, step := range []func(context.Context, *explain.WhyFacts) error{s.whyDependencies, s.whyLife, s.whyFeed, s.whyDiagnosis} {
		if err := step(ctx, &f); err != nil {
			return f, err
		}
	}
	return f, nil
}

func (s *Store) whyDependencies(ctx context.Context, f *explain.WhyFacts) error {
	rows, err := s.q.WaitedFor(ctx, f.Task.ID)
	f.DependsOn = mapAll(rows, func(r db.WaitedForRow) explain.Dependency {
		return explain.Dependency{Key: r.Key, Status: task.Status(r.Status)}
	})
	return translate("read what task "+f.Task.ID+" waits for", err)
}

// whyLife reads the sandbox of the running attempt and its newest guardian analysis.
func (s *Store) whyLife(ctx context.Context, f *explain.WhyFacts) error {
	if f.Task.SandboxID == nil || f.Task.Status.Final() {
		return nil
	}
	pulse, err := s.Pulse(ctx, *f.Task.SandboxID, time.Hour)
	if err != nil {
		return err
	}
	f.Pulse = &pulse
	found, err := s.NewestJudgements(ctx, []string{*f.Task.SandboxID}, whyFresh)
	if err == nil && len(found) > 0 {
		f.Opinion = opinionOf(found[0])
	}
	return err
}

func opinionOf(j guardian.Analysis) *explain.Opinion {
	var said struct {
		Summary  string  `json:"summary"`
		Evidence []int64 `json:"evidence"`
	}
	_ = json.Unmarshal(j.Analysis, &said) // omoi wrote the value; missing fields stay empty
	return &explain.Opinion{SpokenBy: j.SpokenBy, Steer: j.NeedsSteering, Summary: said.Summary, Confidence: j.Confidence, Evidence: said.Evidence}
}

func (s *Store) whyFeed(ctx context.Context, f *explain.WhyFacts) error {
	n := len(f.Task.Attempts)
	if n == 0 {
		return nil
	}
	last := f.Task.Attempts[n-1]
	feeds, err := s.feeds(ctx, []task.Attempt{last}, whyEvents)
	f.Events = feeds[last.SandboxID]
	return err
}

func (s *Store) whyDiagnosis(ctx context.Context, f *explain.WhyFacts) error {
	page, err := s.Diagnoses(ctx, f.Task.OrganizationID, client.DiagnosisQuery{TaskIDs: []string{f.Task.ID}, PageRequest: client.PageRequest{Limit: 1}})
	if len(page.Items) > 0 {
		f.Diagnosis = &page.Items[0]
	}
	return err
}
