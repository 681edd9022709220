package api

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/conductor"
	"github.com/omoi-dev/omoi/internal/redact"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/task"
)

const (
	mostOpen   = 2000             // open tasks with which a new one is compared, the newest ones
	candidates = 5                // candidates in an answer
	beginning  = 300              // characters of a candidate's description
	findFor    = 20 * time.Second // a creation waits so long for a model
)

// alikeError is the error of a task that duplicates an open one.
type alikeError struct {
	err    error
	report client.DuplicateReport
}

func (e *alikeError) Error() string { return e.err.Error() }
func (e *alikeError) Unwrap() error { return e.err }

// refuseAlike returns an error if a duplicate of a draft is open in its project. It asks a model, if one is configured. It
// takes no lock: two concurrent requests may both find no duplicate.
func (a *API) refuseAlike(ctx context.Context, d task.NewTask, threshold *float64) error {
	var finder supervise.Finder
	if a.deps.Finder != nil {
		finder = a.deps.Finder()
	}
	report, err := a.alike(ctx, d, threshold, finder)
	if err != nil || !report.IsDuplicate {
		return err
	}
	nearest := report.Candidates[0]
	conflict := task.Errorf(task.CodeConflict, "%s The most similar is task %s (similarity %.2f, %s): %s. Next: use that "+
		"task, or set force_create",
		report.Message, nearest.TaskID, nearest.Similarity, nearest.Status, clip(nearest.Title)).WithKind(task.KindDuplicateWork)
	conflict.Field = "force_create"
	return &alikeError{err: conflict, report: report}
}

// alike compares a draft with the open tasks of its project by their texts. If no text is nearly equal, alike asks the
// finder once, unless it is nil.
func (a *API) alike(ctx context.Context, d task.NewTask, threshold *float64, finder supervise.Finder) (client.DuplicateReport, error) {
	report := client.DuplicateReport{
		Candidates: []client.Candidate{}, Source: conductor.SourceText,
		Message: "No open task of the project has an equal or nearly equal text. Only a model finds the same work in other words.",
	}
	open, err := a.deps.Conducting.OpenWork(ctx, conductor.WorkQuery{
		OrganizationID: d.OrganizationID, ProjectID: d.ProjectID, TicketID: d.TicketID, Repo: d.Repo,
		IdempotencyKey: d.IdempotencyKey, Limit: mostOpen,
	})
	if err != nil {
		return report, err
	}
	compare(&report, d, open, cmp.Or(threshold, new(supervise.SimilarityThreshold)))
	if len(report.Candidates) == 0 && finder != nil && len(open) > 0 {
		if matches, ok := a.find(ctx, finder, d, open); ok {
			named(&report, open, matches, threshold)
		}
	}
	slices.SortStableFunc(report.Candidates,
		func(x, y client.Candidate) int { return cmp.Compare(y.Similarity, x.Similarity) })
	if n := len(report.Candidates); n > 0 {
		report.IsDuplicate, report.Message = true, fmt.Sprintf("Open tasks of the project that describe similar work: %d.", n)
	}
	report.Candidates = report.Candidates[:min(len(report.Candidates), candidates)]
	return report, nil
}

// compare adds to the report all tasks whose texts have at least a similarity of least.
func compare(report *client.DuplicateReport, d task.NewTask, open []conductor.OpenWork, least *float64) {
	mine := supervise.WorkOf(d.Title, d.Description)
	for _, o := range open {
		theirs := supervise.WorkOf(o.Title, o.Description)
		likeness := mine.Similarity(&theirs)
		report.Highest = max(report.Highest, likeness)
		if likeness >= *least && likeness > 0 {
			report.Candidates = append(report.Candidates, openCandidate(o, likeness))
		}
	}
}

// find asks a model in one call about the newest titles, and reports whether the model answered.
func (a *API) find(ctx context.Context, finder supervise.Finder, d task.NewTask, open []conductor.OpenWork) ([]supervise.Match, bool) {
	ctx, cancel := context.WithTimeout(ctx, findFor)
	defer cancel()
	titles := make([]string, min(len(open), supervise.MostTitles))
	for n := range titles {
		titles[n] = redact.Scrub(open[n].Title, nil)
	}
	text := supervise.WorkText{Title: redact.Scrub(d.Title, nil), Description: redact.Scrub(d.Description, nil)}
	matches, _, err := finder.FindDuplicates(ctx, text, titles)
	if err != nil {
		a.log.WarnContext(ctx, "find duplicates failed, texts were compared", slog.String("error", err.Error()))
	}
	return matches, err == nil
}

// named adds to the report the tasks that a model named as duplicates; least replaces the default similarity, unless it is nil.
func named(report *client.DuplicateReport, open []conductor.OpenWork, matches []supervise.Match, least *float64) {
	report.Source, report.Message = conductor.SourceModel, "A model found no open task of the project about the same work."
	for _, m := range matches {
		report.Highest = max(report.Highest, m.Similarity)
		if least == nil && m.Sure() || least != nil && m.Confident() && m.Similarity >= *least {
			report.Candidates = append(report.Candidates, openCandidate(open[m.At], m.Similarity))
		}
	}
}

func openCandidate(o conductor.OpenWork, likeness float64) client.Candidate {
	text := []rune(o.Description)
	return client.Candidate{
		TicketID: o.TicketID, TaskID: o.TaskID, Title: o.Title, Description: string(text[:min(len(text), beginning)]),
		Status: string(o.Status), Similarity: likeness,
	}
}
