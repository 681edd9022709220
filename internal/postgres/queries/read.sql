-- name: ReadTask :one
SELECT sqlc.embed(t), p.repo, (s.task_id IS NOT NULL)::boolean AS holds_slot,
    coalesce(CASE WHEN NOT EXISTS (SELECT FROM sandboxes x WHERE x.id = t.sandbox_id AND x.last_event_at > t.waiting_at)
        THEN t.waiting::text END, '')::text AS waiting_for,
    ARRAY(SELECT d.depends_on::text FROM task_dependencies d WHERE d.task_id = t.id ORDER BY d.depends_on)::text[] AS depends_on
FROM tasks t JOIN projects p ON p.id = t.project_id LEFT JOIN slots s ON s.task_id = t.id
WHERE t.organization_id = @organization_id AND t.id = @id;

-- name: ReadTasks :many
-- Without what is long of results.
SELECT sqlc.embed(t), p.repo, (s.task_id IS NOT NULL)::boolean AS holds_slot,
    coalesce(CASE WHEN NOT EXISTS (SELECT FROM sandboxes x WHERE x.id = t.sandbox_id AND x.last_event_at > t.waiting_at)
        THEN t.waiting::text END, '')::text AS waiting_for,
    ARRAY(SELECT d.depends_on::text FROM task_dependencies d WHERE d.task_id = t.id ORDER BY d.depends_on)::text[] AS depends_on
FROM task_briefs t JOIN projects p ON p.id = t.project_id LEFT JOIN slots s ON s.task_id = t.id
WHERE t.organization_id = @organization_id
  AND (sqlc.narg('statuses')::text[] IS NULL OR t.status = ANY(sqlc.narg('statuses')::text[]))
  AND (sqlc.narg('phase_ids')::text[] IS NULL OR t.phase_id = ANY(sqlc.narg('phase_ids')::text[]))
  AND (sqlc.narg('has_sandbox')::boolean IS NULL OR (t.sandbox_id IS NOT NULL) = sqlc.narg('has_sandbox'))
  AND (sqlc.narg('ticket_ids')::uuid[] IS NULL OR t.ticket_id = ANY(sqlc.narg('ticket_ids')::uuid[]))
  AND (sqlc.narg('project_ids')::uuid[] IS NULL OR t.project_id = ANY(sqlc.narg('project_ids')::uuid[]))
  AND (sqlc.narg('fragments')::text[] IS NULL OR EXISTS (SELECT FROM unnest(sqlc.narg('fragments')::text[]) AS f
       WHERE t.id::text LIKE f || '%' OR t.id::text LIKE '%' || f
       OR right(t.id::text, 8) LIKE f || '%')) -- the beginning of what lists show of an id
  AND (sqlc.narg('before_at')::timestamptz IS NULL
       OR (t.created_at, t.id) < (sqlc.narg('before_at')::timestamptz, sqlc.narg('before_id')::uuid))
ORDER BY t.created_at DESC, t.id DESC
LIMIT @max_rows;

-- name: ReadAttempts :many
SELECT sqlc.embed(a), sqlc.embed(s)
FROM attempts a JOIN sandboxes s ON s.id = a.sandbox_id
WHERE a.task_id = @task_id ORDER BY a.number;

-- name: PendingCommands :many
-- The oldest command of each task that is accepted and not settled; starts are not shown.
SELECT DISTINCT ON (task_id) * FROM commands
WHERE task_id = ANY(@task_ids::uuid[]) AND state = 'accepted' AND kind <> 'start'
ORDER BY task_id, ordinal;

-- name: ReadSandbox :one
-- A row without an organization belongs to a sandbox that nobody made; only an open server shows those.
SELECT sqlc.embed(s), omoi_lifetime_seconds(s.machine, s.host_bound, s.created_at, s.made_at, s.started_at, s.gone_at)::float8 AS seconds_alive,
    coalesce((SELECT t.key FROM tasks t WHERE t.id = s.task_id), '')::text AS task_key
FROM sandboxes s
WHERE s.id = @id AND (s.organization_id = @organization_id OR (s.organization_id IS NULL AND @bare::boolean));

-- name: ReadSandboxes :many
SELECT sqlc.embed(s), omoi_lifetime_seconds(s.machine, s.host_bound, s.created_at, s.made_at, s.started_at, s.gone_at)::float8 AS seconds_alive,
    coalesce((SELECT t.key FROM tasks t WHERE t.id = s.task_id), '')::text AS task_key
FROM sandboxes s
WHERE (s.organization_id = @organization_id OR (s.organization_id IS NULL AND @bare::boolean))
  AND (sqlc.narg('task_ids')::uuid[] IS NULL OR s.task_id = ANY(sqlc.narg('task_ids')::uuid[]))
  AND (sqlc.narg('states')::text[] IS NULL OR s.state = ANY(sqlc.narg('states')::text[]))
  AND (NOT @unverified::boolean OR (s.verified_at IS NULL AND s.machine))
  AND (sqlc.narg('before_at')::timestamptz IS NULL
       OR (s.created_at, s.id) < (sqlc.narg('before_at')::timestamptz, sqlc.narg('before_id')::text))
ORDER BY s.created_at DESC, s.id DESC
LIMIT @max_rows;

-- name: SandboxOwner :one
-- Whose sandbox it is: organization and task are null for a bare row.
SELECT organization_id, task_id FROM sandboxes WHERE id = @id;

-- name: TaskStatus :one
-- Where a task stands, and whether every attempt has ended: all that a long poll asks.
SELECT t.status, NOT EXISTS (SELECT FROM attempts a WHERE a.task_id = t.id AND a.ended_at IS NULL) AS ended
FROM tasks t WHERE t.organization_id = @organization_id AND t.id = @id;

-- name: PartPulse :one
-- Age of the newest beat of a part, in seconds.
SELECT (extract(epoch FROM now() - at))::double precision AS age FROM component_heartbeats WHERE part = @part;
