-- name: BudgetsBind :one
-- Whether any task that has not ended, or any project, has a budget.
SELECT (EXISTS (SELECT FROM tasks WHERE budget <> '{}' AND status NOT IN ('completed', 'failed', 'cancelled'))
    OR EXISTS (SELECT FROM projects WHERE budget <> '{}'))::boolean;

-- name: MeterLive :exec
SELECT omoi_meter_live();

-- name: SettleUses :exec
SELECT omoi_settle_usage();

-- name: ParkSpent :exec
SELECT omoi_suspend_over_budget();

-- name: Meter :exec
SELECT omoi_meter(@sandbox_id::text);

-- name: MeterTask :exec
SELECT omoi_meter(id) FROM sandboxes WHERE organization_id = @organization_id AND task_id = @task_id AND last_sequence > metered ORDER BY id;

-- name: MeterProject :exec
-- What has ended is counted.
SELECT omoi_meter(s.id) FROM slots h JOIN sandboxes s ON s.task_id = h.task_id AND s.ended_at IS NULL AND s.last_sequence > s.metered
WHERE h.project_id = @project_id ORDER BY s.id;

-- name: TaskBudget :one
SELECT budget FROM tasks WHERE organization_id = @organization_id AND id = @id;

-- name: ProjectBudget :one
SELECT budget FROM projects WHERE organization_id = @organization_id AND id = @id AND deleted_at IS NULL;

-- name: SetTaskBudget :one
UPDATE tasks SET budget = @budget, updated_at = now() WHERE organization_id = @organization_id AND id = @id
RETURNING project_id;

-- name: SetProjectBudget :one
UPDATE projects SET budget = @budget, updated_at = now() WHERE organization_id = @organization_id AND id = @id
    AND deleted_at IS NULL
RETURNING id;

-- name: CostUnknown :one
-- Whether a task, or the tasks of a project, have used a model without a known price.
SELECT EXISTS (SELECT FROM tasks t JOIN sandboxes s ON s.task_id = t.id
    WHERE (t.id = @id OR t.project_id = @id) AND s.cost_unknown)::boolean;
