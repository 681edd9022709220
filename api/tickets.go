package api

import (
	"cmp"
	"context"
	"net/http"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// Tickets reads and changes tickets; an accepted task creates them.
type Tickets interface {
	Ticket(ctx context.Context, organizationID, id string) (client.Ticket, error)
	Tickets(ctx context.Context, organizationID string, q client.TicketQuery) (client.Page[client.Ticket], error)
	// ChangeTicket returns [task.CodeConflict] for a phase that cannot follow the current one.
	ChangeTicket(ctx context.Context, organizationID, id string, c client.UpdateTicketRequest) (client.Ticket, error)
}

// createTicket creates a ticket together with its first task.
func (a *API) createTicket(
	ctx context.Context, in *bodyIn[client.CreateTicketRequest],
) (*madeOut[client.Ticket], error) {
	d, err := a.draftTicket(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	who := callerOf(ctx)
	d.OrganizationID, d.UserID, d.Sender, d.Trace = who.organization, who.user, who.name, traceparent(ctx)
	accepted, err := a.accept(ctx, d, in.Body.SimilarityThreshold,
		!in.Body.ForceCreate && (in.Body.CheckDuplicates == nil || *in.Body.CheckDuplicates))
	if err != nil {
		return nil, err
	}
	made, err := a.deps.Tickets.Ticket(ctx, who.organization, accepted.TicketID)
	return &madeOut[client.Ticket]{Status: http.StatusCreated, Location: "/api/v1/tickets/" + made.ID, Body: made}, err
}

func (a *API) draftTicket(ctx context.Context, in client.CreateTicketRequest) (task.NewTask, error) {
	d, err := a.draft(ctx, firstTask(in))
	if err != nil {
		return d, err
	}
	d.Ticket.TicketType = cmp.Or(in.TicketType, d.Ticket.TicketType)
	d.Ticket.Context, err = checkObject("context", in.Context)
	return d, err
}

func (a *API) patchTicket(
	ctx context.Context, in *changeIn[client.UpdateTicketRequest],
) (*bodyOut[client.Ticket], error) {
	b := in.Body
	if err := checkTicket(b); err != nil {
		return nil, err
	}
	var err error
	if b.Context, err = checkObject("context", b.Context); err != nil {
		return nil, err
	}
	return body(a.deps.Tickets.ChangeTicket(ctx, callerOf(ctx).organization, in.ID, b))
}

// checkTicket rejects invalid texts, and fields of a ticket that are immutable.
func checkTicket(b client.UpdateTicketRequest) error {
	const stays = "the ticket stays where it was created"
	if err := checkFixed("ticket", []fixedField{
		{"project_id", b.ProjectID, stays}, {"repo", b.Repo, stays}, {"task", b.Task, "use PATCH /api/v1/tasks/{id}"},
	}); err != nil {
		return err
	}
	if b.Title != nil {
		if err := checkTitle("title", *b.Title); err != nil {
			return err
		}
	}
	if b.Description != nil {
		return checkText("description", *b.Description, maxDescription)
	}
	return nil
}

func firstTask(in client.CreateTicketRequest) client.CreateTaskRequest {
	t := client.CreateTaskRequest{
		ProjectID: in.ProjectID, Repo: in.Repo, Title: in.Title, Description: in.Description,
		PhaseID: in.PhaseID, Priority: in.Priority,
	}
	if in.Task != nil {
		t.TaskType, t.Mode, t.Agent = in.Task.TaskType, in.Task.Mode, in.Task.Agent
		t.Provider, t.Sandbox = in.Task.Provider, in.Task.Sandbox
		t.MaxRetries, t.DeadlineAt, t.Budget, t.Execution = in.Task.MaxRetries, in.Task.DeadlineAt, in.Task.Budget, in.Task.Execution
	}
	return t
}
