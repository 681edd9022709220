package api

import (
	"context"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// Budgets stores the budgets of tasks and projects. Its setters release tasks that were suspended for a budget which is
// no longer used up.
type Budgets interface {
	TaskBudget(ctx context.Context, organizationID, id string) (client.BudgetUsage, error)
	ProjectBudget(ctx context.Context, organizationID, id string) (client.BudgetUsage, error)
	SetTaskBudget(ctx context.Context, organizationID, id, sender string, b task.Budget) (client.BudgetUsage, error)
	SetProjectBudget(ctx context.Context, organizationID, id, sender string, b task.Budget) (client.BudgetUsage, error)
}

func (a *API) registerBudgets() {
	tasks := a.group(tagTasks, "/api/v1/tasks/{id}/budget")
	projects := a.group(tagProjects, "/api/v1/projects/{id}/budget")
	s := a.deps.Budgets
	add(tasks.on(accessRead, "GET", "get-task-budget", "Get budget and usage"), read(s.TaskBudget),
		details{more: "Of all attempts of the task together."})
	add(tasks.on(accessWrite, "PUT", "set-task-budget", "Set a budget"), setBudget(s.SetTaskBudget),
		details{more: "Replaces all limits; a task that was suspended for its budget resumes if the new one suffices."})
	add(projects.on(accessRead, "GET", "get-project-budget", "Get budget and usage"), read(s.ProjectBudget),
		details{more: "Budget that the tasks of the project share, and what they have used together."})
	add(projects.on(accessWrite, "PUT", "set-project-budget", "Set a budget"), setBudget(s.SetProjectBudget), details{
		more: "Replaces the budget: an absent limit, or 0, is none. Tasks that were suspended for the old budget continue " +
			"if the new one permits.",
	})
}

func setBudget(
	set func(ctx context.Context, organizationID, id, sender string, b task.Budget) (client.BudgetUsage, error),
) handler[changeIn[client.Budget], bodyOut[client.BudgetUsage]] {
	return func(ctx context.Context, in *changeIn[client.Budget]) (*bodyOut[client.BudgetUsage], error) {
		who := callerOf(ctx)
		return body(set(ctx, who.organization, in.ID, who.name, in.Body))
	}
}
