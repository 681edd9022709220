-- name: Admit :one
-- Admission after something that concerns one project: a task came, goes, or does not wait any more. False: a cooldown runs, and
-- AdmitAll has to follow.
SELECT omoi_admit(@organization_id::uuid, @project_id::uuid)::boolean;

-- name: LockAdmission :exec
SELECT pg_advisory_xact_lock(hashtextextended('omoi_admission ' || @organization_id::uuid, 0));

-- name: QueuedOnCredentials :many
-- The queued tasks of an organization in which a cooldown runs, with what decides on their credentials.
SELECT t.id, t.user_id, t.project_id, t.agent, t.execution_config FROM tasks t
WHERE t.organization_id = @organization_id AND t.queued_at IS NOT NULL
    AND EXISTS (SELECT FROM credential_cooldowns s WHERE s.organization_id = @organization_id);

-- name: AdmitAll :exec
SELECT omoi_admit_all(@organization_id::uuid, @on_credentials::uuid[], @names::text[], @answered::text[]);

-- name: StartCooldown :exec
-- Of a credential, until the reset that the agent reported, at most six hours, else for the duration pause. An agent must not block
-- others for long: afterwards one task tries and shows whether the limit still holds.
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
-- What the agent in a sandbox said of its failure last.
SELECT e.event_data FROM sandboxes s JOIN sandbox_events e ON e.partition_month = s.partition_month AND e.sandbox_id = s.id
WHERE s.id = @sandbox_id AND e.event_type = ANY (@failures::text[])
ORDER BY e.sequence DESC LIMIT 1;

-- name: CooldownsDue :many
-- Organizations with a cooldown that admission has to evaluate.
SELECT DISTINCT organization_id::text FROM credential_cooldowns WHERE next_at <= clock_timestamp();
