package client

import (
	"context"
	"net/http"

	"github.com/omoi-dev/omoi/internal/task"
)

// TaskBudget returns the budget and the usage of a task.
func (c *Client) TaskBudget(ctx context.Context, id string) (BudgetUsage, error) {
	return answer[BudgetUsage](ctx, c, call{path: item("tasks", id, "budget")})
}

// SetTaskBudget replaces the budget of a task. A task that was suspended for its budget resumes if the new one
// suffices.
func (c *Client) SetTaskBudget(ctx context.Context, id string, b Budget) (BudgetUsage, error) {
	return answer[BudgetUsage](ctx, c, call{method: http.MethodPut, path: item("tasks", id, "budget"), body: b})
}

// ProjectBudget returns the budget that the tasks of a project share, and their usage.
func (c *Client) ProjectBudget(ctx context.Context, id string) (BudgetUsage, error) {
	return answer[BudgetUsage](ctx, c, call{path: item("projects", id, "budget")})
}

// SetProjectBudget replaces the budget of a project. Tasks that were suspended for it resume if the new one suffices.
func (c *Client) SetProjectBudget(ctx context.Context, id string, b Budget) (BudgetUsage, error) {
	return answer[BudgetUsage](ctx, c, call{method: http.MethodPut, path: item("projects", id, "budget"), body: b})
}

// Usage is what a task or a project has used so far.
type Usage struct {
	Tokens         float64  `json:"tokens" doc:"Input and output tokens of all models together, as agents report."`
	USD            *float64 `json:"usd" doc:"Cost of models in US dollars, as far as prices are known. Null: unknown, and not counted against the budget."`
	CostUnknown    bool     `json:"cost_unknown" doc:"True: a model without a known price was used, and usd leaves its cost out."`
	WallClockS     float64  `json:"wall_clock_s" doc:"Seconds since the creation of the task or project, to the end of an ended task."`
	SandboxSeconds float64  `json:"sandbox_s" doc:"Lifetime of all sandboxes together, in seconds."`
}

// BudgetUsage is a budget with its usage.
type BudgetUsage struct {
	Budget  task.Budget `json:"budget" doc:"Limits that are set; a missing key or 0: no limit."`
	Used    Usage       `json:"used" doc:"Usage by now, of all attempts, or of all tasks of the project."`
	TaskIDs []string    `json:"task_ids" nullable:"false" doc:"Tasks of the project that were suspended for a budget and resume now. Always empty in answers to GET."`
}
