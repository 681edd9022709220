package api

import (
	"context"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

type legacyProjectsIn struct {
	Status string `query:"status" doc:"Only projects in this state, of which omoi has active alone; another one selects none. Default: all."`
	Limit  int    `query:"limit" default:"100" minimum:"1" maximum:"1000" doc:"Maximum number of elements of the list."`
	Offset int    `query:"offset" default:"0" minimum:"0" maximum:"2000000000" doc:"Number of elements to skip, newest first."`
}

func (a *API) legacyProjects(ctx context.Context, in *legacyProjectsIn) (*huma.StreamResponse, error) {
	organization := callerOf(ctx).organization
	list := legacyList[client.Project]{
		limit: in.Limit, offset: in.Offset, most: mostLegacy,
		keep: func(client.Project) bool { return in.Status == "" || in.Status == legacyActive },
		form: func(p client.Project) any { return legacyProject(p) },
		read: func(ctx context.Context, at client.PageRequest) (client.Page[client.Project], error) {
			return a.deps.Projects.Projects(ctx, organization, at)
		},
	}
	list.head, list.tail = objectWith("projects")
	return list.send(ctx, a, "projects in legacy form")
}

func (a *API) legacyProject(ctx context.Context, in *IDPath) (*bodyOut[client.LegacyProject], error) {
	p, err := a.deps.Projects.Project(ctx, callerOf(ctx).organization, in.ID)
	return body(legacyProject(p), err)
}

func (a *API) createLegacyProject(ctx context.Context, in *rawIn) (*bodyOut[client.LegacyProject], error) {
	var said client.CreateLegacyProjectRequest
	if err := decode(in.RawBody, &said); err != nil {
		return nil, err
	}
	if own := callerOf(ctx).organization; said.OrganizationID != "" && said.OrganizationID != own {
		return nil, task.Errorf(task.CodeForbidden, "The organization %s is not that of the caller. Next: leave organization_id out",
			clip(said.OrganizationID))
	}
	asked := client.CreateProjectRequest{
		Name: said.Name, Description: said.Description, Repo: repoOf(said.GitHubOwner, said.GitHubRepo), Settings: said.Settings,
	}
	made, err := a.createProject(ctx, &bodyIn[client.CreateProjectRequest]{asked})
	if err != nil {
		return nil, err
	}
	return body(legacyProject(made.Body), nil)
}

// Values of fields that omoi does not have.
const (
	legacyActive   = "active"
	legacyBacklog  = "PHASE_BACKLOG"
	legacyApproved = "approved"
)

// repoOf returns the repository on GitHub; empty: none.
func repoOf(owner, name string) string { return strings.Trim(owner+"/"+name, "/") }

func legacyProject(p client.Project) client.LegacyProject {
	out := client.LegacyProject{
		ID: p.ID, Name: p.Name, Description: p.Description, DefaultPhaseID: legacyBacklog, Status: legacyActive, Settings: p.Settings,
		Autonomous: p.Autonomous, CreatedAt: pythonic(p.CreatedAt), UpdatedAt: pythonic(p.UpdatedAt),
	}
	if owner, name, ok := scm.OwnerName(asNamed(p)); ok {
		out.GitHubOwner, out.GitHubRepo, out.GitHubConnected = &owner, &name, true
	}
	return out
}

// asNamed returns the repository of a project. omoi keeps its name in lower case, and clients of OmoiOS compare it as they
// sent it: they name a project after its repository.
func asNamed(p client.Project) string {
	if strings.EqualFold(p.Name, p.Repo) {
		return p.Name
	}
	return p.Repo
}

type legacyTicketsIn struct {
	Status    string `query:"status" doc:"Only tickets with this progress; default: all."`
	Priority  string `query:"priority" doc:"Only tickets of this urgency; default: all."`
	PhaseID   string `query:"phase_id" doc:"Only tickets of this phase; default: all."`
	ProjectID string `query:"project_id" doc:"Only tickets of this project; default: all."`
	Search    string `query:"search" maxLength:"200" doc:"Only tickets with this text in title or description, in any case; default: all."`
	Limit     int    `query:"limit" default:"10" minimum:"1" maximum:"1000" doc:"Maximum number of elements of the list."`
	Offset    int    `query:"offset" default:"0" minimum:"0" maximum:"2000000000" doc:"Number of elements to skip, newest first."`
}

func (in *legacyTicketsIn) keeps(t client.Ticket) bool {
	search := strings.ToLower(in.Search)
	return (in.Status == "" || in.Status == t.Status) && (in.Priority == "" || in.Priority == t.Priority) &&
		(in.PhaseID == "" || in.PhaseID == t.PhaseID) &&
		(strings.Contains(strings.ToLower(t.Title), search) || strings.Contains(strings.ToLower(t.Description), search))
}

func (a *API) legacyTickets(ctx context.Context, in *legacyTicketsIn) (*huma.StreamResponse, error) {
	organization := callerOf(ctx).organization
	list := legacyList[client.Ticket]{
		limit: in.Limit, offset: in.Offset, most: mostLegacy, keep: in.keeps,
		form: func(t client.Ticket) any {
			return client.LegacyListedTicket{LegacyTicket: legacyTicket(t), CreatedAt: pythonic(t.CreatedAt)}
		},
		read: func(ctx context.Context, at client.PageRequest) (client.Page[client.Ticket], error) {
			return a.deps.Tickets.Tickets(ctx, organization, client.TicketQuery{PageRequest: at, ProjectIDs: given(in.ProjectID)})
		},
	}
	list.head, list.tail = objectWith("tickets")
	return list.send(ctx, a, "tickets in legacy form")
}

func legacyTicket(t client.Ticket) client.LegacyTicket {
	return client.LegacyTicket{
		ID: t.ID, Title: t.Title, Description: t.Description, PhaseID: t.PhaseID, Status: t.Status, Priority: t.Priority,
		ProjectID: t.ProjectID, ApprovalStatus: legacyApproved,
	}
}
