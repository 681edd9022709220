package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
)

// Info describes the server.
func (c *Client) Info(ctx context.Context) (Info, error) {
	var info Info
	_, err := c.do(ctx, call{method: http.MethodGet, path: prefix + "/info"}, &info)
	return info, err
}

// Ready asks for the state of everything that the server needs. A server that is up and
// not ready is no error.
func (c *Client) Ready(ctx context.Context) (Readiness, error) {
	req, err := c.request(ctx, call{method: http.MethodGet, path: "/readyz"})
	if err != nil {
		return Readiness{}, err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return Readiness{}, unreachable(c.base, err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusServiceUnavailable {
		return Readiness{}, decodeProblem(res.StatusCode, res.Body)
	}
	var ready Readiness
	if err := json.NewDecoder(res.Body).Decode(&ready); err != nil {
		return Readiness{}, unreachable(c.base, err)
	}
	return ready, nil
}

// SandboxFilter selects sandboxes of a list. Zero values do not filter.
type SandboxFilter struct {
	TaskID string
	State  string
	// Unverified keeps those that are not verified gone.
	Unverified bool
	Limit      int // 1..500; 0 is 100
	Cursor     string
}

// Sandboxes lists the ledger, newest first.
func (c *Client) Sandboxes(ctx context.Context, f SandboxFilter) (Page[Sandbox], error) {
	q := url.Values{}
	set(q, "task_id", f.TaskID)
	set(q, "state", f.State)
	set(q, "cursor", f.Cursor)
	if f.Unverified {
		q.Set("unverified", "true")
	}
	if f.Limit > 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	var page Page[Sandbox]
	_, err := c.do(ctx, call{method: http.MethodGet, path: prefix + "/sandboxes", query: q}, &page)
	return page, err
}

// Sandbox returns one row of the ledger.
func (c *Client) Sandbox(ctx context.Context, id string) (Sandbox, error) {
	var s Sandbox
	_, err := c.do(ctx, call{method: http.MethodGet, path: item("sandboxes", id)}, &s)
	return s, err
}

// Hosts lists the machines of sandboxes, those that reported last first. It needs the scope
// admin, and so does LoseHost.
func (c *Client) Hosts(ctx context.Context) ([]Host, error) {
	var page Page[Host]
	_, err := c.do(ctx, call{method: http.MethodGet, path: prefix + "/hosts"}, &page)
	return page.Items, err
}

// LoseHost declares a machine lost, with all that is on it; [task.CodeConflict] while it still reports.
func (c *Client) LoseHost(ctx context.Context, id string) (Host, error) {
	var h Host
	_, err := c.do(ctx, call{method: http.MethodPost, path: item("hosts", id, "lost")}, &h)
	return h, err
}

// SendMessage puts a message into the inbox of a sandbox's agent. With a key that is not empty
// the same key and body answer the same message.
func (c *Client) SendMessage(ctx context.Context, sandboxID string, in NewMessage, key string) (QueuedMessage, error) {
	header := http.Header{}
	if key != "" {
		header.Set("Idempotency-Key", key)
	}
	var queued QueuedMessage
	_, err := c.do(ctx, call{method: http.MethodPost, path: item("sandboxes", sandboxID, "messages"), header: header, body: in}, &queued)
	return queued, err
}

// Projects lists the projects of the caller's organization, newest first.
func (c *Client) Projects(ctx context.Context, cursor string) (Page[Project], error) {
	q := url.Values{}
	set(q, "cursor", cursor)
	var page Page[Project]
	_, err := c.do(ctx, call{method: http.MethodGet, path: prefix + "/projects", query: q}, &page)
	return page, err
}

// CreateProject makes a project; [task.CodeConflict] if the repository has one.
func (c *Client) CreateProject(ctx context.Context, in NewProject) (Project, error) {
	var p Project
	_, err := c.do(ctx, call{method: http.MethodPost, path: prefix + "/projects", body: in}, &p)
	return p, err
}

// Project returns one project.
func (c *Client) Project(ctx context.Context, id string) (Project, error) {
	var p Project
	_, err := c.do(ctx, call{method: http.MethodGet, path: item("projects", id)}, &p)
	return p, err
}

// PatchProject changes a project's settings; a limit or pause that is lifted lets tasks in at once.
func (c *Client) PatchProject(ctx context.Context, id string, in ProjectPatch) (Project, error) {
	var p Project
	_, err := c.do(ctx, call{method: http.MethodPatch, path: item("projects", id), body: in}, &p)
	return p, err
}

// ProjectDeletion previews [Client.DeleteProject].
func (c *Client) ProjectDeletion(ctx context.Context, id string) (ProjectDeletion, error) {
	var d ProjectDeletion
	_, err := c.do(ctx, call{method: http.MethodGet, path: item("projects", id, "deletion")}, &d)
	return d, err
}

// DeleteProject deletes a project and its credentials; [task.CodeConflict] names its open tasks.
func (c *Client) DeleteProject(ctx context.Context, id string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: item("projects", id)}, nil)
	return err
}

// CreateTicket makes a ticket and its first task.
func (c *Client) CreateTicket(ctx context.Context, in NewTicket) (Ticket, error) {
	var t Ticket
	_, err := c.do(ctx, call{method: http.MethodPost, path: prefix + "/tickets", body: in}, &t)
	return t, err
}

// Ticket returns one ticket with the ids of its tasks.
func (c *Client) Ticket(ctx context.Context, id string) (Ticket, error) {
	var t Ticket
	_, err := c.do(ctx, call{method: http.MethodGet, path: item("tickets", id)}, &t)
	return t, err
}

// Tickets lists tickets, newest first; an empty project lists those of every project.
func (c *Client) Tickets(ctx context.Context, projectID, cursor string) (Page[Ticket], error) {
	q := url.Values{}
	set(q, "project_id", projectID)
	set(q, "cursor", cursor)
	var page Page[Ticket]
	_, err := c.do(ctx, call{method: http.MethodGet, path: prefix + "/tickets", query: q}, &page)
	return page, err
}

// Keys lists the API keys of the caller's organization, revoked ones included. It needs
// the scope admin, and so do CreateKey and RevokeKey.
func (c *Client) Keys(ctx context.Context) ([]Key, error) {
	var page Page[Key]
	_, err := c.do(ctx, call{method: http.MethodGet, path: prefix + "/auth/api-keys"}, &page)
	return page.Items, err
}

// CreateKey makes an API key. Its secret is in this answer and nowhere else.
func (c *Client) CreateKey(ctx context.Context, in NewKey) (MadeKey, error) {
	var made MadeKey
	_, err := c.do(ctx, call{method: http.MethodPost, path: prefix + "/auth/api-keys", body: in}, &made)
	return made, err
}

// RevokeKey ends an API key at once; revoking again changes nothing.
func (c *Client) RevokeKey(ctx context.Context, id string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: item("auth/api-keys", id)}, nil)
	return err
}
