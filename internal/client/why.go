package client

import (
	"context"
	"net/http"

	"github.com/omoi-dev/omoi/internal/explain"
)

// Explanation says why a task stands where it stands.
type Explanation = explain.Explanation

// Why explains where a task stands.
func (c *Client) Why(ctx context.Context, taskID string) (Explanation, error) {
	return answer[Explanation](ctx, c, call{path: item("tasks", taskID, "why")})
}

// Diagnoses lists them, newest first.
func (c *Client) Diagnoses(ctx context.Context, f GuardianFilter) (Page[explain.Diagnosis], error) {
	return answer[Page[explain.Diagnosis]](ctx, c, call{path: prefix + "/diagnoses", query: f.query()})
}

// Organizations returns the caller's own; all of them for admins of the installation.
func (c *Client) Organizations(ctx context.Context) ([]Organization, error) {
	return answer[[]Organization](ctx, c, call{path: prefix + "/organizations"})
}

// PatchOrganization changes one; [task.CodeForbidden] but for admins of the installation.
func (c *Client) PatchOrganization(ctx context.Context, id string, in OrganizationPatch) (Organization, error) {
	return answer[Organization](ctx, c, call{method: http.MethodPatch, path: item("organizations", id), body: in})
}
