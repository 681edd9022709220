package api

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/task"
)

const (
	mostOpen   = 2000 // tasks with which a new one is compared, the newest ones
	candidates = 5    // that are named
	beginning  = 300  // characters of a candidate's description
)

// alikeError refuses what is being worked on already.
type alikeError struct {
	err    error
	report client.DuplicateReport
}

func (e *alikeError) Error() string { return e.err.Error() }
func (e *alikeError) Unwrap() error { return e.err }

// refuseAlike is an error where work like that of a draft is open in its project. It is a look and
// no lock: of two who ask at the same moment both may be told that there is none.
func (a *API) refuseAlike(ctx context.Context, d task.Draft, threshold *float64) error {
	report, err := a.alike(ctx, d, threshold, candidates)
	if err != nil || !report.IsDuplicate {
		return err
	}
	nearest := report.Candidates[0]
	conflict := task.Errorf(task.CodeConflict, "%s The most alike is task %s (%.2f, %s): %s. Send force_create to make it all the same.",
		report.Message, nearest.TaskID, nearest.Similarity, nearest.Status, clip(nearest.Title))
	conflict.Field = "force_create"
	return &alikeError{err: conflict, report: report}
}

// alike compares a draft with the open work of its project, by counting words.
func (a *API) alike(ctx context.Context, d task.Draft, threshold *float64, most int) (client.DuplicateReport, error) {
	report := client.DuplicateReport{Candidates: []client.Candidate{}, Message: "No open task of this project is about that."}
	open, err := a.deps.Store.OpenWork(ctx, task.WorkQuery{
		OrganizationID: d.OrganizationID, ProjectID: d.ProjectID, TicketID: d.TicketID, Repo: d.Repo, IdempotencyKey: d.IdempotencyKey, Limit: mostOpen,
	})
	if err != nil {
		return report, err
	}
	read := func(ids []string) (map[string]string, error) {
		return a.deps.Store.Descriptions(ctx, d.OrganizationID, ids)
	}
	works, err := a.works.of(open, read)
	if err != nil {
		return report, err
	}
	least := supervise.SimilarityThreshold
	if threshold != nil {
		least = *threshold
	}
	compare(&report, d, open, works, least)
	report.Candidates = report.Candidates[:min(len(report.Candidates), most)]
	return report, describe(report.Candidates, read)
}

// compare names all who are alike by least or more, the most alike first.
func compare(report *client.DuplicateReport, d task.Draft, open []task.OpenWork, works []supervise.Work, least float64) {
	mine := supervise.WorkOf(d.Title, d.Description)
	for n, o := range open {
		likeness := mine.Similarity(&works[n])
		report.Highest = max(report.Highest, likeness)
		if likeness >= least && likeness > 0 {
			report.Candidates = append(report.Candidates, candidate(o, likeness))
		}
	}
	slices.SortStableFunc(report.Candidates, func(x, y client.Candidate) int { return cmp.Compare(y.Similarity, x.Similarity) })
	if n := len(report.Candidates); n > 0 {
		report.IsDuplicate, report.Message = true, fmt.Sprintf("Open tasks of this project that are about the same work: %d.", n)
	}
}

func candidate(o task.OpenWork, likeness float64) client.Candidate {
	return client.Candidate{TicketID: o.TicketID, TaskID: o.TaskID, Title: o.Title, Status: string(o.Status), Similarity: likeness}
}

// describe adds the beginnings of the candidates' descriptions.
func describe(candidates []client.Candidate, read func(ids []string) (map[string]string, error)) error {
	ids := make([]string, len(candidates))
	for n, c := range candidates {
		ids[n] = c.TaskID
	}
	if len(ids) == 0 {
		return nil
	}
	texts, err := read(ids)
	for n, c := range candidates {
		text := []rune(texts[c.TaskID])
		candidates[n].Description = string(text[:min(len(text), beginning)])
	}
	return err
}

type checkAlikeIn struct {
	Body client.DuplicateCheck
}

type checkAlikeOut struct {
	Body client.DuplicateReport
}

// checkAlike makes nothing.
func (a *API) checkAlike(ctx context.Context, in *checkAlikeIn) (*checkAlikeOut, error) {
	d := task.Draft{OrganizationID: callerOf(ctx).organization}
	asked := client.NewTask{ProjectID: in.Body.ProjectID, Repo: in.Body.Repo, Title: in.Body.Title, Description: in.Body.Description}
	if err := draftText(&d, asked); err != nil {
		return nil, err
	}
	if err := a.draftPlace(ctx, &d, asked); err != nil {
		return nil, err
	}
	report, err := a.alike(ctx, d, in.Body.SimilarityThreshold, cmp.Or(in.Body.TopK, candidates))
	return &checkAlikeOut{Body: report}, err
}
