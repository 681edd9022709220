package client

import (
	"context"
	"net/http"

	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/task"
)

// Explanation says why a task stands where it stands.
type Explanation = explain.Explanation

// Diagnosis says what failed again and again in a task.
type Diagnosis = task.Diagnosis

// Why explains where a task stands.
func (c *Client) Why(ctx context.Context, taskID string) (Explanation, error) {
	var out Explanation
	_, err := c.do(ctx, call{method: http.MethodGet, path: item("tasks", taskID, "why")}, &out)
	return out, err
}

// Diagnoses lists them, newest first.
func (c *Client) Diagnoses(ctx context.Context, f GuardianFilter) (Page[Diagnosis], error) {
	var page Page[Diagnosis]
	_, err := c.do(ctx, call{method: http.MethodGet, path: prefix + "/diagnoses", query: f.query()}, &page)
	return page, err
}

// Organization owns projects.
type Organization = task.Organization

// OrganizationPatch is the body of PATCH /api/v1/organizations/{id}. What is absent stays.
type OrganizationPatch struct {
	Plan     *string `json:"plan,omitempty" nullable:"false" doc:"free, pro, lifetime, team, enterprise or unlimited"`
	MaxSlots *int    `json:"max_concurrent_tasks,omitempty" minimum:"-1" maximum:"10000" nullable:"false" doc:"A limit of its own, which goes before the plan's; -1: none"`
}

// Organizations answers the caller's own; all of them for admins of the installation.
func (c *Client) Organizations(ctx context.Context) ([]Organization, error) {
	var out []Organization
	_, err := c.do(ctx, call{method: http.MethodGet, path: prefix + "/organizations"}, &out)
	return out, err
}

// PatchOrganization changes one; [task.CodeForbidden] but for admins of the installation.
func (c *Client) PatchOrganization(ctx context.Context, id string, in OrganizationPatch) (Organization, error) {
	var out Organization
	_, err := c.do(ctx, call{method: http.MethodPatch, path: item("organizations", id), body: in}, &out)
	return out, err
}
