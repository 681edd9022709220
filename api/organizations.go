package api

import (
	"context"
	"net/http"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// Organizations stores organizations and their plans.
type Organizations interface {
	// Organizations returns all organizations, or the organization with id.
	Organizations(ctx context.Context, id string) ([]client.Organization, error)
	ChangeOrganization(ctx context.Context, id string, c client.UpdateOrganizationRequest) (client.Organization, error)
}

func (a *API) registerOrganizations() {
	organizations := a.group(tagProjects, "/api/v1/organizations")
	add(organizations.on(accessRead, "GET", "list-organizations", "List organizations"), a.listOrganizations,
		details{
			more:  "The organization of the caller; all of them, oldest first, for admins of the installation.",
			fails: []int{http.StatusGone},
		})
	add(organizations.on(accessAdmin, "PATCH /{id}", "update-organization", "Update an organization"),
		a.patchOrganization, details{more: "Only for admins of the installation: keys with the scope admin of its first " +
			"organization. Queued tasks start at once if a higher limit permits."})
}

func (a *API) listOrganizations(ctx context.Context, in *client.PageRequest) (*pageOut[client.Organization], error) {
	who := callerOf(ctx)
	only := who.organization
	if a.operates(who) {
		only = ""
	}
	all, err := a.deps.Organizations.Organizations(ctx, only)
	return whole(*in, func(o client.Organization) string { return o.ID }, all, err)
}

// operates reports whether the caller is an operator: an admin of the installation's first organization.
func (a *API) operates(who caller) bool {
	return who.organization == a.cfg.Organization && enough(who, accessAdmin) == nil
}

func (a *API) patchOrganization(
	ctx context.Context, in *changeIn[client.UpdateOrganizationRequest],
) (*bodyOut[client.Organization], error) {
	if !a.operates(callerOf(ctx)) {
		return nil, task.Errorf(task.CodeForbidden,
			"Cannot change the organization: only admins of the installation may. Next: ask the operator of the installation").WithKind(task.KindScope)
	}
	return body(a.deps.Organizations.ChangeOrganization(ctx, in.ID, in.Body))
}
