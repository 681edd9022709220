-- name: MakeUser :exec
INSERT INTO users (id, organization_id, name) VALUES (@id, @organization_id, @name)
ON CONFLICT (organization_id, name) DO NOTHING;

-- name: UserByName :one
SELECT id FROM users WHERE organization_id = @organization_id AND name = @name;

-- name: PutCredential :one
-- PutCredential inserts no row for a project of another organization.
INSERT INTO credentials (id, organization_id, user_id, project_id, kind, key_id, sealed)
SELECT @id, @organization_id, sqlc.narg('user_id')::uuid, sqlc.narg('project_id')::uuid, @kind, @key_id, @sealed
WHERE sqlc.narg('project_id')::uuid IS NULL
   OR EXISTS (SELECT FROM projects p WHERE p.id = sqlc.narg('project_id')::uuid AND p.organization_id = @organization_id
        AND p.deleted_at IS NULL FOR KEY SHARE)
ON CONFLICT (organization_id, coalesce(user_id, project_id, organization_id), kind) DO UPDATE
SET key_id = excluded.key_id, sealed = excluded.sealed, updated_at = now(), used_at = NULL
RETURNING *;

-- name: DropCredential :execrows
DELETE FROM credentials
WHERE organization_id = @organization_id AND kind = @kind
  AND user_id IS NOT DISTINCT FROM sqlc.narg('user_id')::uuid AND project_id IS NOT DISTINCT
      FROM sqlc.narg('project_id')::uuid;

-- name: Credentials :many
-- Credentials returns the credentials of a user, of the organization, and of the project or of all projects.
SELECT * FROM credentials
WHERE organization_id = @organization_id
  AND (user_id IS NULL OR user_id = sqlc.narg('user_id')::uuid)
  AND (project_id IS NULL OR sqlc.narg('project_id')::uuid IS NULL OR project_id = sqlc.narg('project_id')::uuid)
ORDER BY kind, user_id NULLS LAST, project_id NULLS LAST;

-- name: CredentialsUnder :many
SELECT * FROM credentials WHERE key_id <> @not_key_id AND id > @after ORDER BY id LIMIT @most;

-- name: ResealCredential :execrows
UPDATE credentials SET key_id = @key_id, sealed = @sealed WHERE id = @id AND sealed = @was;

-- name: UseCredential :exec
UPDATE credentials SET used_at = now() WHERE id = @id AND (used_at IS NULL OR used_at < now() - interval '1 minute');

-- name: PlaceOrganization :one
-- PlaceOrganization returns the organization of a project, else of a user.
SELECT organization_id FROM projects WHERE id = sqlc.narg('project_id')::uuid
UNION ALL
SELECT organization_id FROM users WHERE id = sqlc.narg('user_id')::uuid AND sqlc.narg('project_id')::uuid IS NULL;

-- name: TaskEnvs :many
SELECT id::text, organization_id::text, (execution_config -> 'env')::jsonb AS env FROM tasks
WHERE jsonb_typeof(execution_config -> 'env') = 'object' AND execution_config -> 'env' <> '{}' AND id > @after::uuid
ORDER BY id LIMIT @most;

-- name: ResealTaskEnv :execrows
UPDATE tasks SET execution_config = jsonb_set(execution_config, '{env}', @env::jsonb)
WHERE id = @id AND execution_config -> 'env' = @was::jsonb;

-- name: UseNoCredential :exec
-- UseNoCredential renames the credential of a task's newest attempt, because the attempt got no credential of the
-- installation.
UPDATE attempts a SET credential = @of_task::text || a.task_id
WHERE a.task_id = @task_id AND starts_with(a.credential, @of_installation::text)
    AND a.number = (SELECT max(n.number) FROM attempts n WHERE n.task_id = @task_id);

-- name: NoteCooldown :exec
-- NoteCooldown stores the end of the cooldown in a suspended task.
UPDATE tasks SET queue_reason = nullif(@why::text, '')::jsonb WHERE id = @id AND queued_at IS NULL;

-- name: SuspendedOnCredentials :many
-- SuspendedOnCredentials returns tasks that the rate limit of a credential suspended, in organizations where a
-- credential was set in the last hour or works again (proven), or where one could take over. A task that was retried
-- since its last attempt is excluded.
SELECT t.id, t.organization_id, t.user_id, t.project_id, t.agent, t.execution_config, a.credential AS used,
    EXISTS (SELECT FROM credential_cooldowns s WHERE s.organization_id = t.organization_id
        AND s.credential = a.credential
        AND s.proven_at > a.ended_at)::boolean AS proven
FROM tasks t CROSS JOIN LATERAL (SELECT * FROM attempts a WHERE a.task_id = t.id ORDER BY a.number DESC LIMIT 1) a
WHERE t.status = 'pending' AND t.blocked_reason = 'provider_limit' AND t.queued_at IS NULL
    AND t.organization_id IN (SELECT c.organization_id FROM credentials c WHERE c.updated_at > now() - interval '1 hour' OR c.kind LIKE '%#_'
        UNION SELECT s.organization_id FROM credential_cooldowns s WHERE s.proven_at IS NOT NULL)
    AND a.failure_class = 'provider_limit' AND a.assigned_at IS NOT NULL
    AND NOT EXISTS (SELECT FROM commands c WHERE c.task_id = t.id AND c.kind = 'retry' AND c.created_at >= a.ended_at)
ORDER BY t.organization_id, t.id;

-- name: OrganizationCredentials :many
-- OrganizationCredentials returns the fields that determine the names of credentials; see credential.Choose.
SELECT id, organization_id, user_id, project_id, kind, updated_at,
    coalesce((SELECT i.several_subscriptions FROM installation i), false)::boolean AS several_subscriptions
FROM credentials WHERE organization_id = @organization_id;

-- name: AllowSubscriptions :exec
UPDATE installation SET several_subscriptions = @allowed WHERE several_subscriptions <> @allowed;

-- name: Cooldowns :many
-- Cooldowns returns the active cooldowns of an organization: those that have not reached their reset, and those whose
-- credential another task tries.
SELECT credential, until, coalesce(probe::text, '')::text AS probe FROM credential_cooldowns
WHERE organization_id = @organization_id AND proven_at IS NULL AND (until > clock_timestamp() OR probe IS NOT NULL);

-- name: ResumeSuspended :exec
-- ResumeSuspended retries those of the tasks that a rate limit still suspends, once after each attempt. A row that
-- another transaction has locked is skipped.
SELECT omoi_add_command(m.id, 'retry', @reason::text, @sender::text) FROM (
    SELECT t.id FROM tasks t CROSS JOIN LATERAL (SELECT * FROM attempts a WHERE a.task_id = t.id
        ORDER BY a.number DESC LIMIT 1) a
    WHERE t.id = ANY (@ids::uuid[]) AND t.status = 'pending' AND t.blocked_reason = 'provider_limit'
        AND t.queued_at IS NULL
        AND NOT EXISTS (SELECT FROM commands c WHERE c.task_id = t.id AND c.kind = 'retry'
            AND c.created_at >= a.ended_at)
    ORDER BY t.id FOR NO KEY UPDATE OF t SKIP LOCKED
) m;

-- name: ProveAnswered :exec
-- ProveAnswered ends the cooldown of credentials that work again: a model answered an attempt that began after the rate
-- limit, or a run with the credential completed after it. The query reads the newest 1,000 events of an attempt.
UPDATE credential_cooldowns s SET proven_at = clock_timestamp(), next_at = clock_timestamp(), probe = NULL
WHERE s.proven_at IS NULL AND EXISTS (SELECT FROM attempts a JOIN tasks t ON t.id = a.task_id
    JOIN sandboxes b ON b.id = a.sandbox_id
    JOIN sandbox_events e ON e.partition_month = b.partition_month AND e.sandbox_id = b.id
        AND e.sequence > b.last_sequence - 1000
    WHERE a.ended_at IS NULL AND t.organization_id = s.organization_id AND a.credential = s.credential
        AND b.last_work_at > s.since
        AND e.created_at > s.since AND e.event_type = ANY (CASE WHEN a.started_at > s.since
            THEN @answered::text[] ELSE @completions::text[] END));

-- name: ProveCredential :exec
-- ProveCredential ends the cooldown of a credential that its provider accepts: of a stored one, or of the given names.
UPDATE credential_cooldowns s SET proven_at = clock_timestamp(), next_at = clock_timestamp(), probe = NULL
WHERE s.organization_id = @organization_id AND s.proven_at IS NULL
    AND (starts_with(s.credential, sqlc.narg('of_stored')::text) OR s.credential = ANY (@names::text[]));
