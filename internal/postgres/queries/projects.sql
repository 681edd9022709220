-- name: InsertProject :one
INSERT INTO projects (id, organization_id, name, description, repo, default_branch, max_slots,
    autonomous_execution_enabled, settings, setup, setup_timeout_s, on_feedback)
VALUES (@id, @organization_id, @name, @description, @repo, @default_branch, @max_slots, @autonomous, @settings, @setup, @setup_timeout_s, @on_feedback)
RETURNING *;

-- name: EnsureProject :exec
-- Makes the project of a repository unless the organization has it.
INSERT INTO projects (id, organization_id, name, repo, max_slots)
VALUES (@id, @organization_id, @name, @repo, @max_slots)
ON CONFLICT (organization_id, repo) WHERE repo <> '' DO NOTHING;

-- name: ProjectByRepo :one
SELECT * FROM projects WHERE organization_id = @organization_id AND repo = @repo AND repo <> '';

-- name: ProjectByID :one
SELECT * FROM projects WHERE organization_id = @organization_id AND id = @id;

-- name: ListProjects :many
SELECT * FROM projects
WHERE organization_id = @organization_id
  AND (sqlc.narg('before_at')::timestamptz IS NULL
       OR (created_at, id) < (sqlc.narg('before_at')::timestamptz, sqlc.narg('before_id')::uuid))
ORDER BY created_at DESC, id DESC
LIMIT @max_rows;

-- name: UpdateProject :one
UPDATE projects SET
    name = coalesce(sqlc.narg('name'), name),
    description = coalesce(sqlc.narg('description'), description),
    default_branch = coalesce(sqlc.narg('default_branch'), default_branch),
    max_slots = coalesce(sqlc.narg('max_slots'), max_slots),
    paused = coalesce(sqlc.narg('paused'), paused),
    autonomous_execution_enabled = coalesce(sqlc.narg('autonomous'), autonomous_execution_enabled),
    agents_may_message = coalesce(sqlc.narg('agents_may_message'), agents_may_message),
    auto_steering = CASE WHEN @names_steering::boolean THEN sqlc.narg('auto_steering') ELSE auto_steering END,
    on_feedback = coalesce(sqlc.narg('on_feedback'), on_feedback),
    settings = coalesce(sqlc.narg('settings'), settings),
    setup = coalesce(sqlc.narg('setup'), setup),
    setup_timeout_s = coalesce(sqlc.narg('setup_timeout_s'), setup_timeout_s),
    updated_at = now()
WHERE organization_id = @organization_id AND id = @id
RETURNING *;
