package client

import (
	"context"
	"net/http"
)

// Halt is the body of POST /api/v1/projects/{id}/pause and resume.
type Halt struct {
	Now    bool   `json:"now,omitempty" doc:"Pause only: stop what is at work too; its work is saved, and resume lets it go on"`
	Reason string `json:"reason,omitempty" maxLength:"2000" doc:"Why, for the people who look at the tasks later"`
}

// Halted is its answer.
type Halted struct {
	Project Project `json:"project"`
	// TaskIDs are the tasks at work that were asked to stop, or those stopped ones that were asked to go on.
	TaskIDs []string `json:"task_ids" nullable:"false"`
	// AllPaused says that no task of anybody begins, whatever the project says: omoi runs with ORCHESTRATOR_ENABLED=false.
	AllPaused bool `json:"all_paused"`
}

// PauseProject lets no task of a project begin; with now those at work are stopped too.
func (c *Client) PauseProject(ctx context.Context, id string, in Halt) (Halted, error) {
	return c.halt(ctx, id, "pause", in)
}

// ResumeProject takes a pause back.
func (c *Client) ResumeProject(ctx context.Context, id string, in Halt) (Halted, error) {
	return c.halt(ctx, id, "resume", in)
}

func (c *Client) halt(ctx context.Context, id, what string, in Halt) (out Halted, err error) {
	_, err = c.do(ctx, call{method: http.MethodPost, path: item("projects", id, what), body: in}, &out)
	return out, err
}

// MoveTicket brings a ticket into another phase; [task.CodeConflict] names those that may follow its own.
func (c *Client) MoveTicket(ctx context.Context, id string, in TicketPatch) (out Ticket, err error) {
	_, err = c.do(ctx, call{method: http.MethodPatch, path: item("tickets", id), body: in}, &out)
	return out, err
}
