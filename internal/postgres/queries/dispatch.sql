-- name: SetProjectPaused :one
UPDATE projects SET paused = @paused, updated_at = now() WHERE organization_id = @organization_id AND id = @id
RETURNING *;

-- name: ParkAtWork :many
-- Asks those tasks of a project that hold a slot to stop, unless they were asked.
WITH meant AS (
    SELECT s.task_id FROM slots s JOIN tasks t ON t.id = s.task_id
    WHERE s.project_id = @project_id AND t.status NOT IN ('completed', 'failed', 'cancelled')
        AND NOT EXISTS (SELECT FROM commands c WHERE c.task_id = s.task_id AND c.kind = 'pause' AND c.state = 'accepted')
    ORDER BY s.task_id
), asked AS (
    INSERT INTO commands (id, task_id, kind, args, sender)
    SELECT gen_random_uuid(), task_id, 'pause', jsonb_build_object('reason', @reason::text), @sender FROM meant ORDER BY task_id
), due AS (
    INSERT INTO relay (task_id, due_at) SELECT task_id, now() FROM meant ORDER BY task_id
    ON CONFLICT (task_id) DO UPDATE SET due_at = least(coalesce(relay.due_at, now()), now())
)
SELECT task_id::text FROM meant;

-- name: ResumeParked :many
-- Lets those tasks of a project go on that were parked for this reason, unless they were asked to.
WITH meant AS (
    SELECT t.id FROM tasks t
    WHERE t.project_id = @project_id AND t.status = 'pending' AND t.blocked_reason = @blocked AND t.queued_at IS NULL
        AND NOT EXISTS (SELECT FROM commands c WHERE c.task_id = t.id AND c.kind = 'retry' AND c.state = 'accepted')
    ORDER BY t.id
), asked AS (
    INSERT INTO commands (id, task_id, kind, args, sender)
    SELECT gen_random_uuid(), id, 'retry', jsonb_build_object('reason', @reason::text), @sender FROM meant ORDER BY id
), due AS (
    INSERT INTO relay (task_id, due_at) SELECT id, now() FROM meant ORDER BY id
    ON CONFLICT (task_id) DO UPDATE SET due_at = least(coalesce(relay.due_at, now()), now())
)
SELECT id::text FROM meant;

-- name: SetTicketPhase :exec
UPDATE tickets SET phase_id = @phase_id, updated_at = now() WHERE id = @id;

-- name: LockTicket :one
SELECT k.phase_id FROM tickets k JOIN projects p ON p.id = k.project_id
WHERE p.organization_id = @organization_id AND k.id = @id FOR NO KEY UPDATE OF k;

-- name: ProjectGoesOn :one
-- Whether the project is not paused; nobody pauses or resumes it before this transaction has ended.
SELECT (NOT paused)::boolean FROM projects WHERE id = @id FOR SHARE;
