package client

import (
	"context"
	"net/http"

	"github.com/omoi-dev/omoi/internal/task"
)

// TaskBudget returns the budget of a task and what it has used.
func (c *Client) TaskBudget(ctx context.Context, id string) (BudgetUsage, error) {
	return answer[BudgetUsage](ctx, c, call{path: item("tasks", id, "budget")})
}

// SetTaskBudget replaces it; a task that was parked for it goes on if that is enough.
func (c *Client) SetTaskBudget(ctx context.Context, id string, b Budget) (BudgetUsage, error) {
	return answer[BudgetUsage](ctx, c, call{method: http.MethodPut, path: item("tasks", id, "budget"), body: b})
}

// ProjectBudget returns the budget that the tasks of a project share and what they have used.
func (c *Client) ProjectBudget(ctx context.Context, id string) (BudgetUsage, error) {
	return answer[BudgetUsage](ctx, c, call{path: item("projects", id, "budget")})
}

// SetProjectBudget replaces it; tasks that were parked for it go on if that is enough.
func (c *Client) SetProjectBudget(ctx context.Context, id string, b Budget) (BudgetUsage, error) {
	return answer[BudgetUsage](ctx, c, call{method: http.MethodPut, path: item("projects", id, "budget"), body: b})
}

// Usage is what a task or a project has used so far.
type Usage struct {
	Tokens         float64  `json:"tokens"`
	USD            *float64 `json:"usd"`          // cost of models as far as it is known; null: unknown. An unknown part does not count against the budget
	CostUnknown    bool     `json:"cost_unknown"` // models without a known price were used
	WallClockS     float64  `json:"wall_clock_s"`
	SandboxSeconds float64  `json:"sandbox_s"`
}

// BudgetUsage is a budget with what was used of it.
type BudgetUsage struct {
	Budget task.Budget `json:"budget"`
	Used   Usage       `json:"used"`
	// TaskIDs are the tasks that were parked for it and were asked to go on, as it was raised.
	TaskIDs []string `json:"task_ids" nullable:"false"`
}
