-- name: Admit :one
-- Admit runs admission after a change of one project: a task was created, ended or became ready. False: a cooldown is
-- active, and AdmitAll must follow.
SELECT omoi_admit(@organization_id::uuid, @project_id::uuid)::boolean;

-- name: LockAdmission :exec
SELECT pg_advisory_xact_lock(hashtextextended('omoi_admission ' || @organization_id::uuid, 0));

-- name: QueuedOnCredentials :many
-- QueuedOnCredentials returns the queued tasks of an organization with an active cooldown, and the fields that
-- determine their credentials.
SELECT t.id, t.user_id, t.project_id, t.agent, t.execution_config FROM tasks t
WHERE t.organization_id = @organization_id AND t.queued_at IS NOT NULL
    AND EXISTS (SELECT FROM credential_cooldowns s WHERE s.organization_id = @organization_id);

-- name: AdmitAll :exec
SELECT omoi_admit_all(@organization_id::uuid, @on_credentials::uuid[], @names::text[], @answered::text[]);

-- name: StartCooldown :exec
-- StartCooldown starts a cooldown of a credential until the reported reset, at most six hours, else for the duration
-- pause. An agent must not block other tasks for long: after the cooldown, one task tries again.
INSERT INTO credential_cooldowns AS s (organization_id, credential, stagger, until, next_at)
SELECT @organization_id, @credential, @stagger::interval, u.until, u.until FROM (SELECT CASE WHEN sqlc.narg('reset')::timestamptz IS NULL
    THEN clock_timestamp() + @pause::interval
    ELSE least(greatest(sqlc.narg('reset'), clock_timestamp() + @stagger), clock_timestamp() + interval '6 hours') END AS until) u
ON CONFLICT (organization_id, credential) DO UPDATE SET until = greatest(s.until, excluded.until),
    since = CASE WHEN s.proven_at IS NOT NULL OR s.until <= clock_timestamp() THEN clock_timestamp() ELSE s.since END,
    stagger = excluded.stagger, next_at = greatest(s.until, excluded.until), proven_at = NULL,
    early = s.early AND s.until > clock_timestamp(),
    probe = CASE WHEN s.probe = @task_id OR s.proven_at IS NOT NULL THEN NULL ELSE s.probe END;

-- name: NewestFailure :one
-- NewestFailure returns the newest failure event of a sandbox.
SELECT e.event_data FROM sandboxes s JOIN sandbox_events e ON e.partition_month = s.partition_month AND e.sandbox_id = s.id
WHERE s.id = @sandbox_id AND e.event_type = ANY (@failures::text[])
ORDER BY e.sequence DESC LIMIT 1;

-- name: CooldownsDue :many
-- CooldownsDue returns the organizations with a cooldown that admission must evaluate.
SELECT DISTINCT organization_id::text FROM credential_cooldowns WHERE next_at <= clock_timestamp();
