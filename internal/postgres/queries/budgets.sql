-- name: MeterLive :exec
SELECT omoi_meter_live();

-- name: ParkSpent :exec
SELECT omoi_park_spent();

-- name: Meter :exec
SELECT omoi_meter(@sandbox_id::text);

-- name: MeterTask :exec
SELECT omoi_meter(id) FROM sandboxes WHERE organization_id = @organization_id AND task_id = @task_id AND head > metered ORDER BY id;

-- name: TaskBudget :one
SELECT budget FROM tasks WHERE organization_id = @organization_id AND id = @id;

-- name: ProjectBudget :one
SELECT budget FROM projects WHERE organization_id = @organization_id AND id = @id;

-- name: SetTaskBudget :one
UPDATE tasks SET budget = @budget, updated_at = now() WHERE organization_id = @organization_id AND id = @id
RETURNING project_id;

-- name: SetProjectBudget :one
UPDATE projects SET budget = @budget, updated_at = now() WHERE organization_id = @organization_id AND id = @id
RETURNING id;

-- name: ResumeInBudget :many
-- Lets those tasks of a project go on that were parked for a budget which is not spent any more.
WITH meant AS (
    SELECT t.id FROM tasks t
    WHERE t.project_id = @project_id AND t.status = 'pending' AND t.blocked_reason = 'budget' AND t.queued_at IS NULL
        AND NOT EXISTS (SELECT FROM commands c WHERE c.task_id = t.id AND c.kind = 'retry' AND c.state = 'accepted')
        AND NOT omoi_spent(t.id)
    ORDER BY t.id
), asked AS (
    INSERT INTO commands (id, task_id, kind, args, sender)
    SELECT gen_random_uuid(), id, 'retry', '{"reason": "the budget was raised"}', @sender FROM meant ORDER BY id
), due AS (
    INSERT INTO relay (task_id, due_at) SELECT id, now() FROM meant ORDER BY id
    ON CONFLICT (task_id) DO UPDATE SET due_at = least(coalesce(relay.due_at, now()), now())
)
SELECT id::text FROM meant;
