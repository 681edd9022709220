-- name: TellSleep :exec
-- Until when a task sleeps that met a limit itself.
UPDATE tasks SET queue_reason = nullif(@why::text, '')::jsonb WHERE id = @id AND queued_at IS NULL;

-- name: FreshCredentials :many
-- Organizations in which a credential was set of late: only there tasks may sleep for one that was replaced.
SELECT DISTINCT organization_id::text FROM credentials WHERE updated_at > now() - interval '1 hour';

-- name: WakeReplaced :exec
-- Asks tasks to go on that met the limit of a credential and would work with another one now, once after each attempt.
SELECT omoi_add_command(m.id, 'retry', @reason::text, @sender::text) FROM (
    SELECT t.id FROM tasks t
    CROSS JOIN LATERAL (SELECT * FROM attempts a WHERE a.task_id = t.id ORDER BY a.number DESC LIMIT 1) a
    CROSS JOIN LATERAL (SELECT omoi_credential(t.id) AS name) now_with
    WHERE t.organization_id = @organization_id AND t.status = 'pending' AND t.blocked_reason = 'provider_limit' AND t.queued_at IS NULL
        AND a.failure_class = 'provider_limit' AND a.assigned_at IS NOT NULL
        AND now_with.name <> a.credential AND now_with.name NOT LIKE 'task %' AND now_with.name NOT LIKE 'installation %'
        AND NOT EXISTS (SELECT FROM commands c WHERE c.task_id = t.id AND c.kind = 'retry' AND c.created_at >= a.ended_at)
    ORDER BY t.id FOR NO KEY UPDATE OF t SKIP LOCKED
) m;

-- name: ProveAnswered :exec
-- Ends the cooldown of credentials that work again: a model answered an attempt that began after the limit was met, or a run on
-- the credential ended after it. It reads the newest 1,000 events of an attempt.
UPDATE credential_cooldowns s SET proven_at = clock_timestamp(), next_at = clock_timestamp(), probe = NULL
WHERE s.proven_at IS NULL AND EXISTS (SELECT FROM attempts a JOIN tasks t ON t.id = a.task_id JOIN sandboxes b ON b.id = a.sandbox_id
    JOIN sandbox_events e ON e.partition_month = b.partition_month AND e.sandbox_id = b.id AND e.sequence > b.last_sequence - 1000
    WHERE a.ended_at IS NULL AND t.organization_id = s.organization_id AND a.credential = s.credential AND b.last_work_at > s.since
        AND e.created_at > s.since AND e.event_type = ANY (CASE WHEN a.started_at > s.since
            THEN @answered::text[] ELSE @completions::text[] END));

-- name: ProveCredential :exec
-- Ends the cooldown of a credential that its provider takes; without an id it is one of the installation's.
UPDATE credential_cooldowns s SET proven_at = clock_timestamp(), next_at = clock_timestamp(), probe = NULL
WHERE s.organization_id = @organization_id AND s.proven_at IS NULL AND CASE @credential_id::text
    WHEN '' THEN s.credential IN ('installation model', 'installation ' || @kind::text)
    ELSE s.credential LIKE @credential_id || ' %' END;

-- name: WakeProven :exec
-- Asks tasks to go on that met the limit of a credential before it worked again, once after each attempt.
SELECT omoi_add_command(m.id, 'retry', @reason::text, @sender::text) FROM (
    SELECT t.id FROM credential_cooldowns s JOIN tasks t ON t.organization_id = s.organization_id
    CROSS JOIN LATERAL (SELECT * FROM attempts a WHERE a.task_id = t.id ORDER BY a.number DESC LIMIT 1) a
    WHERE s.proven_at IS NOT NULL AND t.status = 'pending' AND t.blocked_reason = 'provider_limit' AND t.queued_at IS NULL
        AND a.failure_class = 'provider_limit' AND a.assigned_at IS NOT NULL AND a.ended_at < s.proven_at
        AND a.credential = s.credential AND omoi_credential(t.id) = s.credential
        AND NOT EXISTS (SELECT FROM commands c WHERE c.task_id = t.id AND c.kind = 'retry' AND c.created_at >= a.ended_at)
    ORDER BY t.id FOR NO KEY UPDATE OF t SKIP LOCKED
) m;
