-- name: InsertTask :exec
INSERT INTO tasks (id, organization_id, project_id, ticket_id, title, description, task_type, phase_id, priority,
    mode, agent, provider, continuous, max_retries, execution_config, budget, deadline_at, user_id, validation_rounds, base_commit, forked_from,
    queued_at)
VALUES (@id, @organization_id, @project_id, @ticket_id, @title, @description, @task_type, @phase_id, @priority,
    @mode, @agent, @provider, @continuous, @max_retries, @execution_config, @budget, sqlc.narg('deadline_at'), sqlc.narg('user_id'), @validation_rounds,
    sqlc.narg('base_commit'), sqlc.narg('forked_from'), now());

-- name: InsertCommand :one
INSERT INTO commands (id, task_id, kind, args, sender) VALUES (@id, @task_id, @kind, @args, @sender)
RETURNING *;

-- name: InsertSettledCommand :one
-- InsertSettledCommand stores the receipt of a command that is too late or rejected.
INSERT INTO commands (id, task_id, kind, args, sender, state, reason, settled_at)
VALUES (@id, @task_id, @kind, @args, @sender, @state, @reason, now())
RETURNING *;

-- name: MakeRelayDue :exec
-- MakeRelayDue creates the relay row of a task or makes it due now.
INSERT INTO task_outbox (task_id, due_at) VALUES (@task_id, now())
ON CONFLICT (task_id) DO UPDATE SET due_at = least(coalesce(task_outbox.due_at, now()), now());

-- name: OpenCommand :one
-- OpenCommand returns the oldest unsettled command of a kind.
SELECT * FROM commands WHERE task_id = @task_id AND kind = @kind AND state = 'accepted'
ORDER BY ordinal LIMIT 1;

-- name: CommandByID :one
SELECT c.* FROM commands c JOIN tasks t ON t.id = c.task_id
WHERE t.organization_id = @organization_id AND c.id = @id;

-- name: InsertIdempotencyKey :execrows
INSERT INTO idempotency_keys (organization_id, key, body_hash, task_id)
VALUES (@organization_id, @key, @body_hash, @task_id)
ON CONFLICT DO NOTHING;

-- name: IdempotencyKey :one
SELECT body_hash, task_id FROM idempotency_keys WHERE organization_id = @organization_id AND key = @key;

-- name: InsertDependencies :exec
INSERT INTO task_dependencies (task_id, depends_on)
SELECT @task_id, d FROM unnest(@depends_on::uuid[]) AS d
ON CONFLICT DO NOTHING;

-- name: DeleteDependencies :exec
-- DeleteDependencies deletes the dependencies that keep does not contain.
DELETE FROM task_dependencies WHERE task_id = @task_id AND NOT depends_on = ANY(@keep::uuid[]);

-- name: DeleteDependency :exec
DELETE FROM task_dependencies WHERE task_id = @task_id AND depends_on = @depends_on;

-- name: Dependencies :many
SELECT depends_on::text FROM task_dependencies WHERE task_id = @task_id ORDER BY depends_on;

-- name: KnownTasks :many
SELECT id::text FROM tasks WHERE organization_id = @organization_id AND id = ANY(@ids::uuid[]);

-- name: DependencyPath :many
-- DependencyPath returns all dependencies that are reachable from the tasks.
WITH RECURSIVE reach (task_id) AS (
    SELECT unnest(@ids::uuid[])
    UNION
    SELECT d.depends_on FROM reach r JOIN task_dependencies d ON d.task_id = r.task_id
)
SELECT d.task_id::text AS task_id, d.depends_on::text AS depends_on
FROM task_dependencies d JOIN reach r ON r.task_id = d.task_id
ORDER BY d.task_id, d.depends_on;

-- name: LockDependencies :exec
-- LockDependencies serializes edits of dependencies of an organization, because two edits together could close a cycle.
SELECT pg_advisory_xact_lock(hashtextextended('omoi dependencies ' || @organization_id::text, 0));

-- name: LockTask :one
SELECT * FROM tasks WHERE organization_id = @organization_id AND id = @id FOR UPDATE;

-- name: PatchTask :exec
UPDATE tasks SET
    title = coalesce(sqlc.narg('title'), title),
    description = coalesce(sqlc.narg('description'), description),
    task_type = coalesce(sqlc.narg('task_type'), task_type),
    phase_id = coalesce(sqlc.narg('phase_id'), phase_id),
    priority = coalesce(sqlc.narg('priority'), priority),
    deadline_at = coalesce(sqlc.narg('deadline_at'), deadline_at),
    updated_at = now()
WHERE organization_id = @organization_id AND id = @id;

-- name: Unblocked :many
-- Unblocked returns the pending tasks that wait for this task only.
SELECT t.id::text FROM task_dependencies d JOIN tasks t ON t.id = d.task_id
WHERE d.depends_on = @task_id AND t.status = 'pending'
  AND NOT EXISTS (
      SELECT FROM task_dependencies o JOIN tasks p ON p.id = o.depends_on
      WHERE o.task_id = t.id AND o.depends_on <> @task_id AND p.status <> 'completed')
ORDER BY t.created_at, t.id;

-- name: SuccessAccepted :one
-- SuccessAccepted reports whether a successful completion or a passed verdict was accepted since the newest attempt
-- began.
SELECT coalesce(bool_or(c.kind = 'complete'), false)::boolean AS completed, coalesce(bool_or(c.kind = 'verdict'), false)::boolean AS passed
FROM commands c
WHERE c.task_id = @task_id AND c.kind IN ('complete', 'verdict') AND c.state IN ('accepted', 'carried_out')
  AND c.args -> 'ok' = 'true'
  AND c.created_at > coalesce((SELECT max(a.started_at) FROM attempts a WHERE a.task_id = @task_id), '-infinity');
