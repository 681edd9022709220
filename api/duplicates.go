package api

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/conductor"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/task"
)

const (
	mostOpen   = 2000 // open tasks with which a new one is compared, the newest ones
	candidates = 5    // candidates in an answer
	beginning  = 300  // characters of a candidate's description
)

// alikeError is the error of a task that duplicates an open one.
type alikeError struct {
	err    error
	report client.DuplicateReport
}

func (e *alikeError) Error() string { return e.err.Error() }
func (e *alikeError) Unwrap() error { return e.err }

// refuseAlike returns an error if a duplicate of a draft is open in its project. It takes no lock: two concurrent
// requests may both find no duplicate.
func (a *API) refuseAlike(ctx context.Context, d task.NewTask, threshold *float64) error {
	report, err := a.alike(ctx, d, threshold)
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

// alike compares a draft with the open tasks of its project by their words.
func (a *API) alike(ctx context.Context, d task.NewTask, threshold *float64) (client.DuplicateReport, error) {
	report := client.DuplicateReport{
		Candidates: []client.Candidate{}, Message: "No open task of the project describes similar work.",
	}
	open, err := a.deps.Conducting.OpenWork(ctx, conductor.WorkQuery{
		OrganizationID: d.OrganizationID, ProjectID: d.ProjectID, TicketID: d.TicketID, Repo: d.Repo,
		IdempotencyKey: d.IdempotencyKey, Limit: mostOpen,
	})
	if err != nil {
		return report, err
	}
	least := supervise.SimilarityThreshold
	if threshold != nil {
		least = *threshold
	}
	compare(&report, d, open, least)
	report.Candidates = report.Candidates[:min(len(report.Candidates), candidates)]
	return report, nil
}

// compare adds to the report all tasks with at least a similarity of least, the most similar one first.
func compare(report *client.DuplicateReport, d task.NewTask, open []conductor.OpenWork, least float64) {
	mine := supervise.WorkOf(d.Title, d.Description)
	for _, o := range open {
		theirs := supervise.WorkOf(o.Title, o.Description)
		likeness := mine.Similarity(&theirs)
		report.Highest = max(report.Highest, likeness)
		if likeness >= least && likeness > 0 {
			report.Candidates = append(report.Candidates, candidate(o, likeness))
		}
	}
	slices.SortStableFunc(report.Candidates,
		func(x, y client.Candidate) int { return cmp.Compare(y.Similarity, x.Similarity) })
	if n := len(report.Candidates); n > 0 {
		report.IsDuplicate, report.Message = true, fmt.Sprintf("Open tasks of the project that describe similar work: %d.", n)
	}
}

func candidate(o conductor.OpenWork, likeness float64) client.Candidate {
	text := []rune(o.Description)
	return client.Candidate{
		TicketID: o.TicketID, TaskID: o.TaskID, Title: o.Title, Description: string(text[:min(len(text), beginning)]),
		Status: string(o.Status), Similarity: likeness,
	}
}
