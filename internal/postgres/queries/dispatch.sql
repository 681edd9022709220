-- name: SetProjectPaused :one
UPDATE projects SET paused = @paused, updated_at = now() WHERE organization_id = @organization_id AND id = @id
    AND deleted_at IS NULL
RETURNING *;

-- name: ParkAtWork :many
-- ParkAtWork adds the command pause to the tasks of a project that hold a slot, unless they have one.
SELECT omoi_add_command(m.task_id, 'pause', @reason::text, @sender::text)::text AS task_id FROM (
    SELECT s.task_id FROM slots s JOIN tasks t ON t.id = s.task_id
    WHERE s.project_id = @project_id AND t.status NOT IN ('completed', 'failed', 'cancelled')
        AND NOT EXISTS (SELECT FROM commands c WHERE c.task_id = s.task_id AND c.kind = 'pause' AND c.state = 'accepted')
    ORDER BY s.task_id
) m;

-- name: ResumeParked :many
-- ResumeParked adds the command retry to tasks of a project that are suspended for this reason, unless they have one.
-- Tasks that are still over their budget are excluded.
SELECT omoi_add_command(m.id, 'retry', @reason::text, @sender::text)::text AS task_id FROM (
    SELECT t.id FROM tasks t
    WHERE t.project_id = @project_id AND t.status = 'pending' AND t.blocked_reason = @blocked AND t.queued_at IS NULL
        AND NOT EXISTS (SELECT FROM commands c WHERE c.task_id = t.id AND c.kind = 'retry' AND c.state = 'accepted')
        AND NOT (t.blocked_reason = 'budget' AND omoi_over_budget(t.id))
    ORDER BY t.id
) m;

-- name: UpdateTicket :exec
UPDATE tickets SET
    title = coalesce(sqlc.narg('title'), title),
    description = coalesce(sqlc.narg('description'), description),
    ticket_type = coalesce(sqlc.narg('ticket_type'), ticket_type),
    phase_id = coalesce(sqlc.narg('phase_id'), phase_id),
    priority = coalesce(sqlc.narg('priority'), priority),
    context = coalesce(sqlc.narg('context'), context),
    updated_at = now()
WHERE id = @id;

-- name: LockTicket :one
SELECT k.phase_id FROM tickets k JOIN projects p ON p.id = k.project_id
WHERE p.organization_id = @organization_id AND k.id = @id FOR NO KEY UPDATE OF k;

-- name: ProjectGoesOn :one
-- ProjectGoesOn reports whether the project is not paused. The lock prevents a change until the transaction ends.
SELECT (NOT paused)::boolean FROM projects WHERE id = @id FOR SHARE;
