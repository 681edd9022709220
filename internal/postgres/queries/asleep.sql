-- name: TellSleep :exec
-- Until when a task sleeps that met a limit itself.
UPDATE tasks SET queue_reason = @why WHERE id = @id AND queued_at IS NULL;

-- name: FreshCredentials :many
-- Organizations in which a credential was set of late: only there tasks may sleep for one that was replaced.
SELECT DISTINCT organization_id::text FROM credentials WHERE updated_at > now() - interval '1 hour';

-- name: WakeReplaced :exec
-- Asks tasks to go on that met the limit of a credential and would work with another one now, once after each attempt.
SELECT omoi_ask(m.id, 'retry', @reason::text, @sender::text) FROM (
    SELECT t.id FROM tasks t
    CROSS JOIN LATERAL (SELECT * FROM attempts a WHERE a.task_id = t.id ORDER BY a.number DESC LIMIT 1) a
    CROSS JOIN LATERAL (SELECT omoi_credential(t.id) AS name) now_with
    WHERE t.organization_id = @organization_id AND t.status = 'pending' AND t.blocked_reason = 'provider_limit' AND t.queued_at IS NULL
        AND a.failure_class = 'provider_limit' AND a.assigned_at IS NOT NULL
        AND now_with.name <> a.credential AND now_with.name NOT LIKE 'task %' AND now_with.name NOT LIKE 'installation %'
        AND NOT EXISTS (SELECT FROM commands c WHERE c.task_id = t.id AND c.kind = 'retry' AND c.created_at >= a.ended_at)
    ORDER BY t.id FOR NO KEY UPDATE OF t SKIP LOCKED
) m;
