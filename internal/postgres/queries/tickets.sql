-- name: InsertTicket :one
INSERT INTO tickets (id, project_id, title, description, ticket_type, phase_id, priority, context)
VALUES (@id, @project_id, @title, @description, @ticket_type, @phase_id, @priority, @context)
RETURNING *;

-- name: TicketByID :one
SELECT sqlc.embed(k),
    omoi_ticket_tasks(k.id)::jsonb AS tasks,
    EXISTS (SELECT FROM tasks t WHERE t.ticket_id = k.id AND (t.status = 'failed' OR t.blocked_reason = 'dependency_failed'))::boolean AS blocked,
    (SELECT coalesce(bool_and(t.task_type = 'omoi_check'), false) FROM tasks t WHERE t.ticket_id = k.id)::boolean AS of_check,
    ARRAY(SELECT t.id::text FROM tasks t WHERE t.ticket_id = k.id ORDER BY t.created_at, t.id)::text[] AS task_ids
FROM tickets k JOIN projects p ON p.id = k.project_id
WHERE p.organization_id = @organization_id AND k.id = @id;

-- name: ListTickets :many
SELECT sqlc.embed(k),
    omoi_ticket_tasks(k.id)::jsonb AS tasks,
    EXISTS (SELECT FROM tasks t WHERE t.ticket_id = k.id AND (t.status = 'failed' OR t.blocked_reason = 'dependency_failed'))::boolean AS blocked,
    (SELECT coalesce(bool_and(t.task_type = 'omoi_check'), false) FROM tasks t WHERE t.ticket_id = k.id)::boolean AS of_check,
    ARRAY(SELECT t.id::text FROM tasks t WHERE t.ticket_id = k.id ORDER BY t.created_at, t.id)::text[] AS task_ids
FROM tickets k JOIN projects p ON p.id = k.project_id
WHERE p.organization_id = @organization_id
  AND (sqlc.narg('project_ids')::uuid[] IS NULL OR k.project_id = ANY(sqlc.narg('project_ids')::uuid[]))
  AND (sqlc.narg('before_at')::timestamptz IS NULL
       OR (k.created_at, k.id) < (sqlc.narg('before_at')::timestamptz, sqlc.narg('before_id')::uuid))
ORDER BY k.created_at DESC, k.id DESC
LIMIT @max_rows;

-- name: BlockingTasks :many
-- BlockingTasks returns the oldest failed task of each ticket, else the oldest task that waits for a failed one.
SELECT DISTINCT ON (t.ticket_id) t.ticket_id, t.id, t.status, coalesce(t.error_message, '')::text AS error_message,
    coalesce((SELECT x.id::text FROM task_dependencies d JOIN tasks x ON x.id = d.depends_on
        WHERE d.task_id = t.id AND x.status IN ('failed', 'cancelled') ORDER BY x.created_at, x.id LIMIT 1), '')::text AS waits_for
FROM tasks t
WHERE t.ticket_id = ANY (@ticket_ids::uuid[]) AND (t.status = 'failed' OR t.blocked_reason = 'dependency_failed')
ORDER BY t.ticket_id, t.status <> 'failed', t.created_at, t.id;
