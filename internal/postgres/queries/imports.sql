-- name: ImportedOrganization :one
SELECT EXISTS (SELECT FROM organizations WHERE id = @id);

-- name: OrganizationNamed :one
SELECT EXISTS (SELECT FROM organizations WHERE name = @name);

-- name: ImportOrganization :exec
INSERT INTO organizations (id, name, created_at) VALUES (@id, @name, coalesce(sqlc.narg('created_at')::timestamptz, now()));

-- name: ImportedUser :one
-- ImportedUser returns the organization of a user.
SELECT organization_id FROM users WHERE id = @id;

-- name: ImportUser :execrows
-- ImportUser inserts no row if the organization has a user with the name.
INSERT INTO users (id, organization_id, name, created_at)
VALUES (@id, @organization_id, @name, coalesce(sqlc.narg('created_at')::timestamptz, now())) ON CONFLICT DO NOTHING;

-- name: ImportCredential :execrows
-- ImportCredential replaces no credential.
INSERT INTO credentials (id, organization_id, user_id, kind, key_id, sealed)
VALUES (@id, @organization_id, @user_id, @kind, @key_id, @sealed) ON CONFLICT DO NOTHING;

-- name: ImportedProject :one
-- ImportedProject returns a project by its ID, else the project of its repository.
SELECT id, organization_id FROM projects
WHERE id = @id OR (organization_id = sqlc.narg('organization_id')::uuid AND repo = @repo AND repo <> '' AND deleted_at IS NULL)
ORDER BY id <> @id LIMIT 1;

-- name: ProjectNamed :one
SELECT EXISTS (SELECT FROM projects WHERE organization_id = @organization_id AND name = @name AND deleted_at IS NULL);

-- name: ImportProject :exec
INSERT INTO projects (id, organization_id, name, description, repo, max_slots, paused, autonomous_execution_enabled, created_at, updated_at)
VALUES (@id, @organization_id, @name, @description, @repo, @max_slots, @paused, @autonomous,
    coalesce(sqlc.narg('created_at')::timestamptz, now()), coalesce(sqlc.narg('updated_at')::timestamptz, now()));

-- name: ImportedTicket :one
SELECT k.project_id, p.organization_id FROM tickets k JOIN projects p ON p.id = k.project_id WHERE k.id = @id;

-- name: ImportTicket :exec
INSERT INTO tickets (id, project_id, title, description, ticket_type, phase_id, priority, context, created_at, updated_at)
VALUES (@id, @project_id, @title, @description, @ticket_type, @phase_id, @priority, @context,
    coalesce(sqlc.narg('created_at')::timestamptz, now()), coalesce(sqlc.narg('updated_at')::timestamptz, now()));

-- name: ImportedTask :one
-- ImportedTask returns the organization of a task.
SELECT organization_id FROM tasks WHERE id = @id;

-- name: BranchTaken :one
SELECT EXISTS (SELECT FROM tasks WHERE project_id = @project_id AND branch_name = @branch_name::text);

-- name: ImportTask :exec
INSERT INTO tasks (id, organization_id, project_id, ticket_id, user_id, title, description, task_type, phase_id, priority, mode, agent, provider,
    continuous, max_retries, execution_config, status, sandbox_id, assigned_agent_id, branch_name, pull_request_url, pull_request_number, result,
    error_message, failure_class, end_reason, retry_count, attempt_count, assigned_at, started_at, completed_at, created_at, updated_at)
VALUES (@id, @organization_id, @project_id, @ticket_id, sqlc.narg('user_id'), @title, @description, @task_type, @phase_id, @priority, @mode, @agent,
    @provider, @continuous, @max_retries, @execution_config, @status, sqlc.narg('sandbox_id'), sqlc.narg('assigned_agent_id'), sqlc.narg('branch_name'),
    sqlc.narg('pull_request_url'), sqlc.narg('pull_request_number'), sqlc.narg('result')::jsonb, sqlc.narg('error_message'), @failure_class,
    sqlc.narg('end_reason')::jsonb, @retry_count, @attempt_count, sqlc.narg('started_at'), sqlc.narg('started_at'), @completed_at, @created_at, @updated_at);

-- name: ImportSandbox :execrows
-- ImportSandbox adds a deleted sandbox, unless one with the ID exists.
INSERT INTO sandboxes (id, organization_id, task_id, attempt, provider, machine, state, labels, created_at, started_at, ended_at, gone_at)
VALUES (@id, sqlc.narg('organization_id'), sqlc.narg('task_id'), sqlc.narg('attempt'), @provider, false, 'gone', @labels, @created_at,
    sqlc.narg('started_at'), @ended_at, @ended_at)
ON CONFLICT (id) DO NOTHING;

-- name: ImportAttempt :exec
INSERT INTO attempts (task_id, number, sandbox_id, run_id, ordinal, started_at, assigned_at, ended_at, outcome, failure_class, end_reason, reason)
VALUES (@task_id, 1, @sandbox_id, '', 0, @started_at, @started_at, @ended_at, @outcome, @failure_class, sqlc.narg('end_reason')::jsonb, @reason);

-- name: ImportDependency :execrows
-- ImportDependency adds nothing to a task that omoi has run.
INSERT INTO task_dependencies (task_id, depends_on) SELECT t.id, d.id FROM tasks t, tasks d
WHERE t.id = @task_id AND d.id = @depends_on AND t.first_run_id = '' ON CONFLICT DO NOTHING;

-- name: DependsOn :one
-- DependsOn reports whether a task is another one or depends on it, directly or through others.
WITH RECURSIVE needed(id) AS (SELECT @task_id::uuid UNION SELECT d.depends_on FROM task_dependencies d JOIN needed n ON n.id = d.task_id)
SELECT EXISTS (SELECT FROM needed n WHERE n.id = @other::uuid);

-- name: DropFrames :exec
-- DropFrames deletes what triggers recorded for the bus in this transaction.
DELETE FROM bus_events WHERE xid = pg_current_xact_id_if_assigned()::text::bigint;

-- name: DropOpenUsage :exec
DELETE FROM open_usage WHERE sandbox_id = @sandbox_id;

-- name: ImportedSandbox :one
-- ImportedSandbox reports whether retention has removed the events of a sandbox.
SELECT organization_id, partition_month, last_sequence, labels, EXISTS (SELECT FROM removals r WHERE r.subject = sandboxes.id AND r.kind = @events::text) AS removed
FROM sandboxes WHERE id = @id FOR NO KEY UPDATE;

-- name: ImportedEvents :many
SELECT key::text FROM sandbox_events WHERE partition_month = @partition_month AND sandbox_id = @sandbox_id AND key = ANY (@keys::text[]);

-- name: ImportEvents :exec
INSERT INTO sandbox_events (sandbox_id, sequence, partition_month, event_type, source, event_data, created_at, key)
SELECT @sandbox_id, q.sequence, @partition_month, q.event_type, q.source, q.event_data::jsonb, q.at, q.key
FROM (SELECT unnest(@sequences::bigint[]) AS sequence, unnest(@event_types::text[]) AS event_type, unnest(@sources::text[]) AS source,
    unnest(@event_data::text[]) AS event_data, unnest(@at::timestamptz[]) AS at, unnest(@keys::text[]) AS key) q;

-- name: MoveImported :exec
-- MoveImported also moves the end of an unmanaged sandbox to its last event.
UPDATE sandboxes SET last_sequence = @last_sequence, last_event_at = greatest(last_event_at, @last_event_at::timestamptz),
    last_work_at = greatest(last_work_at, sqlc.narg('last_work_at')::timestamptz),
    ended_at = CASE WHEN task_id IS NULL THEN greatest(ended_at, @last_event_at) ELSE ended_at END,
    gone_at = CASE WHEN task_id IS NULL THEN greatest(gone_at, @last_event_at) ELSE gone_at END
WHERE id = @id;

-- name: ImportedTranscript :one
SELECT EXISTS (SELECT FROM transcripts WHERE run_key = @run_key);
