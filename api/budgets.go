package api

import (
	"context"
	"net/http"

	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// Budgets stores what tasks and projects may use. Its setters release tasks that were suspended for a budget which
// is not spent any more.
type Budgets interface {
	TaskBudget(ctx context.Context, organizationID, id string) (client.BudgetUsage, error)
	ProjectBudget(ctx context.Context, organizationID, id string) (client.BudgetUsage, error)
	SetTaskBudget(ctx context.Context, organizationID, id, sender string, b task.Budget) (client.BudgetUsage, error)
	SetProjectBudget(ctx context.Context, organizationID, id, sender string, b task.Budget) (client.BudgetUsage, error)
}

func (a *API) registerBudgets() {
	const get, put = http.MethodGet, http.MethodPut
	const tasks, projects = "/api/v1/tasks/{id}/budget", "/api/v1/projects/{id}/budget"
	s := a.deps.Budgets
	add(a, route{
		method: get, path: tasks, id: "get-task-budget", tag: tagTasks, summary: "Get budget and usage", access: accessRead,
	}, read(s.TaskBudget))
	add(a, route{
		method: put, path: tasks, id: "set-task-budget", tag: tagTasks, summary: "Set a budget", access: accessWrite,
	}, setBudget(s.SetTaskBudget))
	add(a, route{
		method: get, path: projects, id: "get-project-budget", tag: tagProjects, summary: "Get budget and usage",
		more: "Of all tasks of the project together.", access: accessRead,
	}, read(s.ProjectBudget))
	add(a, route{
		method: put, path: projects, id: "set-project-budget", tag: tagProjects, summary: "Set a budget", access: accessWrite,
	}, setBudget(s.SetProjectBudget))
}

func setBudget(
	set func(ctx context.Context, organizationID, id, sender string, b task.Budget) (client.BudgetUsage, error),
) handler[changeIn[client.Budget], bodyOut[client.BudgetUsage]] {
	return func(ctx context.Context, in *changeIn[client.Budget]) (*bodyOut[client.BudgetUsage], error) {
		who := callerOf(ctx)
		return body(set(ctx, who.organization, in.ID, who.name, in.Body))
	}
}
