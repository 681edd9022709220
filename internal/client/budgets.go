package client

import (
	"context"
	"net/http"

	"github.com/omoi-dev/omoi/internal/task"
)

// Spending is a budget with what was used of it.
type Spending = task.Spending

// TaskBudget returns the budget of a task and what it has used.
func (c *Client) TaskBudget(ctx context.Context, id string) (Spending, error) {
	return answer[Spending](ctx, c, call{path: item("tasks", id, "budget")})
}

// SetTaskBudget replaces it; a task that was parked for it goes on if that is enough.
func (c *Client) SetTaskBudget(ctx context.Context, id string, b Budget) (Spending, error) {
	return answer[Spending](ctx, c, call{method: http.MethodPut, path: item("tasks", id, "budget"), body: b})
}

// ProjectBudget returns the budget that the tasks of a project share and what they have used.
func (c *Client) ProjectBudget(ctx context.Context, id string) (Spending, error) {
	return answer[Spending](ctx, c, call{path: item("projects", id, "budget")})
}

// SetProjectBudget replaces it; tasks that were parked for it go on if that is enough.
func (c *Client) SetProjectBudget(ctx context.Context, id string, b Budget) (Spending, error) {
	return answer[Spending](ctx, c, call{method: http.MethodPut, path: item("projects", id, "budget"), body: b})
}
