package client

import (
	"context"
	"net/http"

	"github.com/omoi-dev/omoi/internal/retention"
)

// Info describes the server.
func (c *Client) Info(ctx context.Context) (Info, error) {
	return answer[Info](ctx, c, call{path: prefix + "/info"})
}

// Ready returns the state of all dependencies of the server. A server that runs but is not ready is not an error.
func (c *Client) Ready(ctx context.Context) (Readiness, error) {
	return answer[Readiness](ctx, c, call{path: "/readyz", accept: http.StatusServiceUnavailable})
}

// SandboxFilter selects sandboxes of a list. Zero values do not filter.
type SandboxFilter struct {
	TaskID string
	// Unverified selects sandboxes whose deletion is not verified.
	Unverified bool
	Limit      int // 1..500; 0 is 100
	Cursor     string
}

// Sandboxes lists sandboxes, newest first.
func (c *Client) Sandboxes(ctx context.Context, f SandboxFilter) (Page[Sandbox], error) {
	q := query("task_id", f.TaskID, "cursor", f.Cursor, "unverified", when(f.Unverified, "true"), "limit", positive(f.Limit))
	return answer[Page[Sandbox]](ctx, c, call{path: prefix + "/sandboxes", query: q})
}

// Sandbox returns one sandbox.
func (c *Client) Sandbox(ctx context.Context, id string) (Sandbox, error) {
	return answer[Sandbox](ctx, c, call{path: item("sandboxes", id)})
}

// Hosts lists the hosts of sandboxes, the one that reported last first. It requires the scope admin, and so does
// LoseHost.
func (c *Client) Hosts(ctx context.Context) ([]Host, error) {
	return all[Host](ctx, c, prefix+"/hosts")
}

// LoseHost marks a host and its sandboxes as lost; [task.CodeConflict] while the host still reports.
func (c *Client) LoseHost(ctx context.Context, id string) (Host, error) {
	return answer[Host](ctx, c, call{method: http.MethodPost, path: item("hosts", id, "mark-lost")})
}

// SendMessage puts a message into the inbox of a sandbox's agent. If key is not empty, repeating the same key and body
// returns the same message.
func (c *Client) SendMessage(ctx context.Context, sandboxID string, in CreateMessageRequest, key string) (QueuedMessage, error) {
	return answer[QueuedMessage](ctx, c, call{
		method: http.MethodPost, path: item("sandboxes", sandboxID, "messages"), header: once(key), body: in,
	})
}

// Projects lists the projects of the caller's organization, newest first.
func (c *Client) Projects(ctx context.Context, cursor string) (Page[Project], error) {
	return answer[Page[Project]](ctx, c, call{path: prefix + "/projects", query: query("cursor", cursor)})
}

// CreateProject creates a project; [task.CodeConflict] if the repository has one.
func (c *Client) CreateProject(ctx context.Context, in CreateProjectRequest) (Project, error) {
	return answer[Project](ctx, c, call{method: http.MethodPost, path: prefix + "/projects", body: in})
}

// PatchProject changes a project's settings; raising a limit or ending a pause admits waiting tasks at once.
func (c *Client) PatchProject(ctx context.Context, id string, in UpdateProjectRequest) (Project, error) {
	return answer[Project](ctx, c, call{method: http.MethodPatch, path: item("projects", id), body: in})
}

// ProjectDeletion previews [Client.DeleteProject].
func (c *Client) ProjectDeletion(ctx context.Context, id string) (ProjectDeletion, error) {
	return answer[ProjectDeletion](ctx, c, call{path: item("projects", id, "deletion")})
}

// DeleteProject deletes a project and its credentials; [task.CodeConflict] names its open tasks.
func (c *Client) DeleteProject(ctx context.Context, id string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: item("projects", id)}, nil)
	return err
}

// CreateTicket creates a ticket and its first task.
func (c *Client) CreateTicket(ctx context.Context, in CreateTicketRequest) (Ticket, error) {
	return answer[Ticket](ctx, c, call{method: http.MethodPost, path: prefix + "/tickets", body: in})
}

// Ticket returns one ticket with the IDs of its tasks.
func (c *Client) Ticket(ctx context.Context, id string) (Ticket, error) {
	return answer[Ticket](ctx, c, call{path: item("tickets", id)})
}

// Tickets lists tickets, newest first; an empty project selects all projects.
func (c *Client) Tickets(ctx context.Context, projectID, cursor string) (Page[Ticket], error) {
	q := query("project_id", projectID, "cursor", cursor)
	return answer[Page[Ticket]](ctx, c, call{path: prefix + "/tickets", query: q})
}

// Keys lists the API keys of the caller's organization, including revoked ones. It requires the scope admin, and so do
// CreateKey and RevokeKey.
func (c *Client) Keys(ctx context.Context) ([]APIKey, error) {
	return all[APIKey](ctx, c, prefix+"/auth/api-keys")
}

// CreateKey creates an API key. Only this response holds its secret.
func (c *Client) CreateKey(ctx context.Context, in CreateAPIKeyRequest) (CreatedAPIKey, error) {
	return answer[CreatedAPIKey](ctx, c, call{method: http.MethodPost, path: prefix + "/auth/api-keys", body: in})
}

// RevokeKey revokes an API key at once; revoking it again changes nothing.
func (c *Client) RevokeKey(ctx context.Context, id string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: item("auth/api-keys", id)}, nil)
	return err
}

// Storage returns the size of stored data by kind, and what the next retention pass removes.
func (c *Client) Storage(ctx context.Context) (retention.Storage, error) {
	return answer[retention.Storage](ctx, c, call{path: prefix + "/storage"})
}
