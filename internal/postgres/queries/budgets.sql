-- name: BudgetsBind :one
-- BudgetsBind reports whether an open task or a project has a budget.
SELECT (EXISTS (SELECT FROM tasks WHERE budget <> '{}' AND status NOT IN ('completed', 'failed', 'cancelled'))
    OR EXISTS (SELECT FROM projects WHERE budget <> '{}'))::boolean;

-- name: BudgetedSandboxes :many
-- BudgetedSandboxes returns active sandboxes with a budget and events that are not metered.
SELECT s.id FROM slots h JOIN tasks t ON t.id = h.task_id JOIN projects p ON p.id = t.project_id
JOIN sandboxes s ON s.task_id = t.id AND s.ended_at IS NULL AND s.last_sequence > s.metered
WHERE t.budget <> '{}' OR p.budget <> '{}' ORDER BY s.id;

-- name: SettleUses :exec
SELECT omoi_settle_usage();

-- name: SuspendOverBudget :one
SELECT coalesce(omoi_suspend_over_budget(), '{}')::uuid[];

-- name: ReportedUsage :many
-- ReportedUsage returns the usage in events of sandboxes that are not metered. A sandbox without such events has one
-- row.
SELECT s.id, s.metered, s.last_sequence, s.cost_usd, s.input_tokens, s.output_tokens, s.cost_unknown, coalesce(e.event_type, '')::text AS event_type,
    jsonb_build_object('total_cost_usd', e.event_data -> 'total_cost_usd', 'cost_usd', e.event_data -> 'cost_usd',
        'input_tokens', e.event_data -> 'input_tokens', 'output_tokens', e.event_data -> 'output_tokens',
        'total_input_tokens', e.event_data #> '{total_usage,input_tokens}', 'total_output_tokens', e.event_data #> '{total_usage,output_tokens}',
        'cost_unknown', coalesce(e.event_data -> 'cost_unknown' = 'true', false))::jsonb AS report
FROM sandboxes s LEFT JOIN sandbox_events e ON e.partition_month = s.partition_month AND e.sandbox_id = s.id AND e.sequence > s.metered
    AND e.sequence <= s.last_sequence AND e.event_type = ANY (@event_types::text[])
WHERE s.id = ANY (@ids::text[]) AND s.last_sequence > s.metered ORDER BY s.id, e.sequence;

-- name: Meter :exec
-- Meter changes no row if another process was faster.
UPDATE sandboxes SET metered = @until, cost_usd = @cost_usd, input_tokens = @input_tokens, output_tokens = @output_tokens, cost_unknown = @cost_unknown
WHERE id = @id AND metered = @metered;

-- name: UnmeteredOfTask :many
SELECT id FROM sandboxes WHERE organization_id = @organization_id AND task_id = @task_id AND last_sequence > metered ORDER BY id;

-- name: UnmeteredOfProject :many
-- UnmeteredOfProject returns running sandboxes only: ended ones are metered.
SELECT s.id FROM slots h JOIN sandboxes s ON s.task_id = h.task_id AND s.ended_at IS NULL AND s.last_sequence > s.metered
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
-- CostUnknown reports whether a task, or a task of a project, used a model without a known price.
SELECT EXISTS (SELECT FROM tasks t JOIN sandboxes s ON s.task_id = t.id
    WHERE (t.id = @id OR t.project_id = @id) AND s.cost_unknown)::boolean;
