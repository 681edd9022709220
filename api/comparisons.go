package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/candidate"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// Comparisons reads comparisons.
type Comparisons interface {
	// Comparison returns [task.CodeNotFound] for a ticket that is not a comparison.
	Comparison(ctx context.Context, organizationID, ticketID string) (candidate.Comparison, error)
}

func (a *API) registerComparisons() {
	comparisons := a.group(tagTasks, "/api/v1/comparisons")
	tickets := a.group(tagTasks, "/api/v1/tickets")
	add(comparisons.on(accessWrite, "POST", "create-comparison", "Create a comparison"), a.createComparison, details{
		more: "Creates a ticket with one task for each candidate, all or none. Returns 201 with the comparison, and 200 if the " +
			"Idempotency-Key names an existing one.",
		status: http.StatusCreated, also: map[int]any{http.StatusOK: client.Comparison{}},
	})
	add(tickets.on(accessRead, "GET /{id}/comparison", "get-comparison", "Get a comparison"), a.getComparison, details{
		more: "Figures of the candidates of the ticket, and a recommendation by fixed rules. 404 if the ticket has fewer than two candidates.",
	})
}

type createComparisonIn struct {
	Key  string `header:"Idempotency-Key" doc:"The same key and body return the same comparison; another body is refused with 409. At most 255 characters; default: no key."`
	Body client.CreateComparisonRequest
}

func (a *API) createComparison(ctx context.Context, in *createComparisonIn) (*madeOut[client.Comparison], error) {
	if err := checkIdempotencyKey(in.Key); err != nil {
		return nil, err
	}
	all, err := a.draftCandidates(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	if err := a.shareBase(ctx, all); err != nil {
		return nil, err
	}
	all[0].IdempotencyKey = in.Key
	if all[0].BodyHash, err = hashOf(struct {
		Comparison client.CreateComparisonRequest
	}{in.Body}); err != nil {
		return nil, err
	}
	accepted, err := a.deps.Tasks.AcceptTasks(ctx, all)
	if err != nil {
		return nil, err
	}
	first, err := a.readTask(ctx, accepted.TaskID) // a repeated key names the task alone
	if err != nil {
		return nil, err
	}
	found, err := a.deps.Comparisons.Comparison(ctx, callerOf(ctx).organization, first.TicketID)
	if err != nil {
		return nil, err
	}
	for _, c := range found.Candidates {
		a.deps.Bus.Wake(live.Task(c.TaskID))
	}
	out := &madeOut[client.Comparison]{Status: http.StatusCreated, Location: "/api/v1/tickets/" + found.TicketID + "/comparison", Body: found}
	if accepted.Repeated {
		out.Status = http.StatusOK
	}
	return out, nil
}

// draftCandidates returns the tasks of a comparison.
func (a *API) draftCandidates(ctx context.Context, in client.CreateComparisonRequest) (all []task.NewTask, err error) {
	if err := checkShared(in.Task); err != nil {
		return nil, err
	}
	request, who := in.Task, callerOf(ctx)
	if in.Task.Budget != nil {
		part, err := candidate.Part(*in.Task.Budget, len(in.Candidates))
		if err != nil {
			return nil, err
		}
		request.Budget = &part
	}
	for n, c := range in.Candidates {
		d, err := a.draftCandidate(ctx, request, c)
		if err != nil {
			return nil, ofCandidate(err, n)
		}
		d.OrganizationID, d.UserID, d.Sender, d.Trace = who.organization, who.user, who.name, traceparent(ctx)
		all = append(all, d)
	}
	if in.Task.CheckDuplicates != nil && *in.Task.CheckDuplicates && !in.Task.ForceCreate {
		first := all[0]
		all[0].Check = func(ctx context.Context) error { return a.refuseAlike(ctx, first, in.Task.SimilarityThreshold) }
	}
	return all, nil
}

// shareBase gives all candidates the same base commit, whenever they start: the head of the base branch now.
func (a *API) shareBase(ctx context.Context, all []task.NewTask) error {
	who := callerOf(ctx)
	repo, id, branch := all[0].Repo, all[0].ProjectID, ""
	if id == "" {
		var err error
		if id, err = a.deps.Projects.ProjectOf(ctx, who.organization, repo); err != nil {
			return err
		}
	}
	if id != "" {
		p, err := a.deps.Projects.Project(ctx, who.organization, id)
		if task.CodeOf(err) == task.CodeNotFound { // AcceptTasks names the field
			return nil
		}
		if err != nil {
			return err
		}
		repo, branch = p.Repo, p.DefaultBranch
	}
	if repo == "" {
		return nil
	}
	base, err := a.deps.Repos.Head(ctx, scm.Owner{UserID: who.user, ProjectID: id}, repo, branch)
	for n := range all {
		all[n].Base = base
	}
	return err
}

func (a *API) draftCandidate(ctx context.Context, request client.CreateTaskRequest, c client.CandidateRequest) (d task.NewTask, err error) {
	if c.Model != "" {
		if err := checkTitle("model", c.Model); err != nil {
			return d, err
		}
	}
	request.Agent = c.Agent
	if request.Execution, err = candidate.Mark(request.Execution, c.Model); err != nil {
		return d, err
	}
	if d, err = a.draft(ctx, request); err == nil {
		d.Execution, err = candidate.Mark(d.Execution, c.Model) // draft takes the mark from every request
	}
	return d, err
}

// checkShared refuses the fields of a task that candidates cannot share.
func checkShared(in client.CreateTaskRequest) error {
	switch {
	case in.Agent != "":
		return task.Invalid("task.agent", "Conflicting field agent: each candidate names its agent.")
	case in.TicketID != "":
		return task.Invalid("task.ticket_id", "Conflicting field ticket_id: a comparison creates its ticket.")
	case in.DependsOn != nil:
		return task.Invalid("task.dependencies", "Conflicting field dependencies: candidates start together.")
	}
	return nil
}

// ofCandidate names the field at fault in the request of a comparison.
func ofCandidate(err error, n int) error {
	e, ok := errors.AsType[*task.Error](err)
	if !ok || e.Field == "" {
		return err
	}
	changed := *e
	if changed.Field = "task." + e.Field; e.Field == "agent" || e.Field == "model" {
		changed.Field = "candidates[" + strconv.Itoa(n) + "]." + e.Field
	}
	return &changed
}

func (a *API) getComparison(ctx context.Context, in *IDPath) (*bodyOut[client.Comparison], error) {
	return body(a.deps.Comparisons.Comparison(ctx, callerOf(ctx).organization, in.ID))
}
