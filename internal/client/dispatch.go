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
	return answer[Halted](ctx, c, call{method: http.MethodPost, path: item("projects", id, "pause"), body: in})
}

// ResumeProject takes a pause back.
func (c *Client) ResumeProject(ctx context.Context, id string, in Halt) (Halted, error) {
	return answer[Halted](ctx, c, call{method: http.MethodPost, path: item("projects", id, "resume"), body: in})
}
