-- name: InsertProject :one
INSERT INTO projects (id, organization_id, name, description, repo, default_branch, max_slots,
    autonomous_execution_enabled, settings, setup, setup_timeout_s, on_feedback, key)
VALUES (@id, @organization_id, @name, @description, @repo, @default_branch, @max_slots, @autonomous, @settings, @setup, @setup_timeout_s, @on_feedback,
    sqlc.narg('key')) -- without a key a trigger makes one of the name
RETURNING *;

-- name: EnsureProject :exec
-- EnsureProject creates the project of a repository, unless the organization has one with the repository or the name.
INSERT INTO projects (id, organization_id, name, repo, max_slots)
VALUES (@id, @organization_id, @name, @repo, @max_slots)
ON CONFLICT DO NOTHING;

-- name: ProjectByRepo :one
SELECT * FROM projects WHERE organization_id = @organization_id AND repo = @repo AND repo <> '' AND deleted_at IS NULL;

-- name: ProjectByID :one
SELECT * FROM projects WHERE organization_id = @organization_id AND id = @id AND deleted_at IS NULL;

-- name: IDByKey :one
-- IDByKey returns the project, task or ticket with the key; their keys have different forms.
SELECT p.id::text FROM projects p WHERE p.organization_id = @organization_id AND p.key = @key AND p.deleted_at IS NULL
UNION ALL SELECT t.id::text FROM tasks t WHERE t.organization_id = @organization_id AND t.key = @key
UNION ALL SELECT k.id::text FROM tickets k JOIN projects p ON p.id = k.project_id
WHERE p.organization_id = @organization_id AND p.key = split_part(@key, '-', 1) AND k.key = @key;

-- name: ListProjects :many
SELECT * FROM projects
WHERE organization_id = @organization_id AND deleted_at IS NULL
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
WHERE organization_id = @organization_id AND id = @id AND deleted_at IS NULL
RETURNING *;

-- name: OpenProject :one
-- OpenProject locks a project that accepts tasks, so that it is not deleted before the transaction ends.
SELECT id FROM projects WHERE id = @id AND deleted_at IS NULL FOR KEY SHARE;

-- name: LockProject :one
-- LockProject locks a project, so that it accepts no task before the transaction ends.
SELECT * FROM projects WHERE organization_id = @organization_id AND id = @id AND deleted_at IS NULL FOR UPDATE;

-- name: ProjectOpenTasks :many
-- ProjectOpenTasks returns tasks of a project that have not ended, or whose sandbox may still exist.
SELECT t.id, t.key, t.title, t.status FROM tasks t
WHERE t.project_id = @project_id AND (t.status NOT IN ('completed', 'failed', 'cancelled') OR EXISTS (
    SELECT FROM sandboxes s WHERE s.task_id = t.id AND s.verified_at IS NULL
        AND s.state NOT IN ('gone', 'lost') AND s.machine))
ORDER BY t.created_at, t.id;

-- name: ProjectContents :one
-- ProjectContents counts what a deletion keeps, and returns the kinds of the credentials that it deletes.
SELECT (SELECT count(*) FROM tasks t WHERE t.project_id = @project_id)::integer AS tasks,
    (SELECT count(*) FROM tickets k WHERE k.project_id = @project_id)::integer AS tickets,
    ARRAY(SELECT DISTINCT split_part(c.kind, '#', 1) AS kind FROM credentials c WHERE c.project_id = @project_id ORDER BY kind)::text[] AS credentials;

-- name: MarkProjectDeleted :exec
-- MarkProjectDeleted also turns off feedback and the budget.
UPDATE projects SET deleted_at = now(), updated_at = now(), on_feedback = 'off', budget = '{}' WHERE id = @id;

-- name: DropProjectCredentials :exec
DELETE FROM credentials WHERE project_id = @project_id;
