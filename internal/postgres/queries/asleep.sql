-- name: TellSleep :exec
-- Until when a task sleeps that met a limit itself.
UPDATE tasks SET queue_reason = nullif(@why::text, '')::jsonb WHERE id = @id AND queued_at IS NULL;

-- name: SuspendedOnCredentials :many
-- Tasks that reached the limit of a credential (slept_on), of organizations in which a credential was set of late or works again (proven),
-- once after each attempt.
SELECT t.id, t.organization_id, t.user_id, t.project_id, t.agent, t.execution_config, a.credential AS slept_on,
    EXISTS (SELECT FROM credential_cooldowns s WHERE s.organization_id = t.organization_id AND s.credential = a.credential
        AND s.proven_at > a.ended_at)::boolean AS proven
FROM tasks t CROSS JOIN LATERAL (SELECT * FROM attempts a WHERE a.task_id = t.id ORDER BY a.number DESC LIMIT 1) a
WHERE t.status = 'pending' AND t.blocked_reason = 'provider_limit' AND t.queued_at IS NULL
    AND t.organization_id IN (SELECT c.organization_id FROM credentials c WHERE c.updated_at > now() - interval '1 hour'
        UNION SELECT s.organization_id FROM credential_cooldowns s WHERE s.proven_at IS NOT NULL)
    AND a.failure_class = 'provider_limit' AND a.assigned_at IS NOT NULL
    AND NOT EXISTS (SELECT FROM commands c WHERE c.task_id = t.id AND c.kind = 'retry' AND c.created_at >= a.ended_at)
ORDER BY t.organization_id, t.id FOR NO KEY UPDATE OF t SKIP LOCKED;

-- name: OrganizationCredentials :many
SELECT * FROM credentials WHERE organization_id = @organization_id;

-- name: AddCommands :exec
SELECT omoi_add_command(m.id, @kind::text, @reason::text, @sender::text) FROM unnest(@ids::uuid[]) AS m(id);

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
