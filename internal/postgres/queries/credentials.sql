-- name: MakeUser :exec
INSERT INTO users (id, organization_id, name) VALUES (@id, @organization_id, @name)
ON CONFLICT (organization_id, name) DO NOTHING;

-- name: UserByName :one
SELECT id FROM users WHERE organization_id = @organization_id AND name = @name;

-- name: PutCredential :one
-- A project of another organization is no place: nothing is written then.
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
  AND user_id IS NOT DISTINCT FROM sqlc.narg('user_id')::uuid AND project_id IS NOT DISTINCT FROM sqlc.narg('project_id')::uuid;

-- name: Credentials :many
-- Those of a user, of the organization, and of the project, or of every project.
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
-- The organization of a project, else of a user.
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
