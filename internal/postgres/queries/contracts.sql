-- name: TaskForContract :one
-- TaskForContract returns what a task contract depends on.
SELECT t.execution_config, p.settings FROM tasks t JOIN projects p ON p.id = t.project_id
WHERE t.organization_id = @organization_id AND t.id = @id;

-- name: ContractVersions :many
SELECT * FROM task_contracts WHERE task_id = @task_id ORDER BY version DESC LIMIT @most;

-- name: LockTaskForContract :one
SELECT status FROM tasks WHERE organization_id = @organization_id AND id = @id FOR NO KEY UPDATE;

-- name: InsertContract :execrows
-- InsertContract inserts nothing if the newest version is not the one that was read. Null: not compared.
INSERT INTO task_contracts (task_id, version, contract, author, author_name, accepted)
SELECT @task_id, coalesce(max(c.version), 0) + 1, @contract, @author, @author_name, @accepted FROM task_contracts c
WHERE c.task_id = @task_id
HAVING sqlc.narg('read')::integer IS NULL OR coalesce(max(c.version), 0) = sqlc.narg('read')::integer;

-- name: CopyContract :exec
-- CopyContract gives a new task the newest contract of another one, whose settings it takes over.
INSERT INTO task_contracts (task_id, version, contract, author, author_name, accepted)
SELECT @task_id, 1, c.contract, c.author, c.author_name, c.accepted FROM task_contracts c
WHERE c.task_id = @source_id ORDER BY c.version DESC LIMIT 1;

-- name: ProposeContract :exec
-- ProposeContract inserts nothing if the task has a contract, or has ended. It waits for a user who sets one.
INSERT INTO task_contracts (task_id, version, contract, author, author_name, accepted)
SELECT t.id, 1, @contract, 'model', @model::text, coalesce(p.settings -> 'accept_contracts' = 'true', false)
FROM tasks t JOIN projects p ON p.id = t.project_id
WHERE t.id = @task_id AND t.status NOT IN ('completed', 'failed', 'cancelled')
FOR NO KEY UPDATE OF t
ON CONFLICT (task_id, version) DO NOTHING;
