package api

import (
	"cmp"
	"context"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/token"
)

// previewTask responds with what createTask would do. A request with errors is a usual one: users write it step by step.
func (a *API) previewTask(ctx context.Context, in *bodyIn[client.CreateTaskRequest]) (*bodyOut[client.TaskPreview], error) {
	d, refused, err := a.previewDraft(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	p := client.TaskPreview{
		Title: d.Title, Mode: d.Mode, Agent: d.Agent, Provider: d.Provider, Continuous: d.Continuous, MaxRetries: d.MaxRetries,
		Errors: refused,
	}
	var errs [3]error
	p.ProjectID, errs[0] = a.projectOf(ctx, client.CreateTaskRequest{ProjectID: d.ProjectID, TicketID: d.TicketID, Repo: d.Repo})
	p.Missing, errs[1] = a.missingFor(ctx, d, p.ProjectID)
	p.Duplicates, errs[2] = a.alike(ctx, d, in.Body.SimilarityThreshold, nil) // a model is asked once, at the creation
	return body(p, cmp.Or(errs[:]...))
}

// previewDraft is [API.draft] without access to the repository. It continues after a refusal, and returns all of them.
func (a *API) previewDraft(
	ctx context.Context, in client.CreateTaskRequest,
) (d task.NewTask, refused []client.ProblemDetail, err error) {
	refused = []client.ProblemDetail{}
	for _, step := range append(a.draftSteps(ctx, &d, &in),
		func() error { return a.knownPlace(ctx, &d) },
		func() error { return task.CheckDeadline(d.DeadlineAt) },
		func() error { return a.nameRepo(&d, in.Repo) },
	) {
		switch err := step(); task.CodeOf(err) {
		case "":
		case task.CodeInvalid, task.CodeNotFound, task.CodeConflict:
			refused = append(refused, client.ProblemDetail{
				Location: cmp.Or(locationOf(err, "body"), "body"), Message: token.HideIn(sentenceOf(err)),
			})
		default:
			return d, nil, err
		}
	}
	if d.NoAgent != nil {
		refused = append(refused, client.ProblemDetail{Location: "body.agent", Message: task.MessageOf(d.NoAgent)})
	}
	d.OrganizationID, d.UserID = callerOf(ctx).organization, callerOf(ctx).user
	return d, refused, nil
}

// knownPlace returns [task.CodeInvalid], as creation does, for a project or a ticket that the organization does not have.
func (a *API) knownPlace(ctx context.Context, d *task.NewTask) (err error) {
	organization := callerOf(ctx).organization
	switch {
	case d.ProjectID != "":
		_, err = a.deps.Projects.Project(ctx, organization, d.ProjectID)
		err = invalidIfMissing("project_id", err)
	case d.TicketID != "":
		_, err = a.deps.Tickets.Ticket(ctx, organization, d.TicketID)
		err = invalidIfMissing("ticket_id", err)
	}
	if err != nil {
		d.ProjectID, d.TicketID = "", ""
	}
	return err
}

// nameRepo sets the canonical name of a repository, if a request has one.
func (a *API) nameRepo(d *task.NewTask, repo string) error {
	if repo == "" {
		return nil
	}
	repo, err := cleanRepo(repo)
	d.Repo = a.deps.Repos.Name(repo)
	return err
}

// missingFor returns what the agent of a draft lacks.
func (a *API) missingFor(ctx context.Context, d task.NewTask, projectID string) ([]string, error) {
	_, execution, err := executionOf(client.CreateTaskRequest{Execution: d.Execution})
	if err != nil {
		return nil, err
	}
	runtimes, err := a.agentRuntimes(ctx, task.Work{
		OrganizationID: d.OrganizationID, UserID: d.UserID, ProjectID: projectID, Provider: d.Provider, Execution: execution,
	})
	for _, r := range runtimes {
		if r.Agent == d.Agent && len(r.Missing) > 0 {
			return r.Missing, err
		}
	}
	return []string{}, err
}
