-- name: ReadTask :one
SELECT sqlc.embed(t), p.repo, (s.task_id IS NOT NULL)::boolean AS holds_slot,
    coalesce(CASE WHEN NOT EXISTS (SELECT FROM sandboxes x WHERE x.id = t.sandbox_id AND x.last_event_at > t.waiting_at)
        THEN t.waiting::text END, '')::text AS waiting_for,
    ARRAY(SELECT d.depends_on::text FROM task_dependencies d WHERE d.task_id = t.id ORDER BY d.depends_on)::text[] AS depends_on,
    (t.status = 'running' AND omoi_agent_waits(t.sandbox_id))::boolean AS agent_waits,
    coalesce((SELECT b.key FROM tasks b WHERE b.id = f.follows), '')::text AS continues,
    coalesce((SELECT n.key FROM follow_ups x JOIN tasks n ON n.id = x.task_id
        WHERE x.root_id = coalesce(f.root_id, t.id) AND x.round = coalesce(f.round, 0) + 1), '')::text AS continued_by
FROM tasks t JOIN projects p ON p.id = t.project_id LEFT JOIN slots s ON s.task_id = t.id LEFT JOIN follow_ups f ON f.task_id = t.id
WHERE t.organization_id = @organization_id AND t.id = @id;

-- name: ReadTasks :many
-- ReadTasks returns shortened results. states holds pairs <status>:<blocked_reason>; running:message is a task whose agent
-- waits for a message. With ranks, an object of ranks by such pairs, the lowest rank comes first; tasks of one rank are
-- ordered by sort_key, the highest first.
SELECT sqlc.embed(t), p.repo, (s.task_id IS NOT NULL)::boolean AS holds_slot,
    coalesce(CASE WHEN NOT EXISTS (SELECT FROM sandboxes x WHERE x.id = t.sandbox_id AND x.last_event_at > t.waiting_at)
        THEN t.waiting::text END, '')::text AS waiting_for,
    ARRAY(SELECT d.depends_on::text FROM task_dependencies d WHERE d.task_id = t.id ORDER BY d.depends_on)::text[] AS depends_on,
    o.agent_waits, o.rank, o.sort_key
FROM task_briefs t JOIN projects p ON p.id = t.project_id LEFT JOIN slots s ON s.task_id = t.id
CROSS JOIN LATERAL (SELECT x.agent_waits, x.state, coalesce(-(sqlc.narg('ranks')::jsonb ->> x.state)::integer, 0)::integer AS rank,
    CASE WHEN sqlc.narg('ranks')::jsonb IS NULL THEN 0
        WHEN t.status = 'pending' THEN t.score - coalesce(t.queue_position, 21) * 0.0001 -- scores are whole hundredths, positions 1 to 20
        ELSE extract(epoch FROM coalesce(t.completed_at, t.updated_at))::float8 END::float8 AS sort_key
    FROM (SELECT w.waits::boolean AS agent_waits, (t.status || ':' || CASE WHEN w.waits THEN 'message' ELSE t.blocked_reason END)::text AS state
        FROM (SELECT (t.status = 'running' AND omoi_agent_waits(t.sandbox_id))::boolean AS waits) w) x) o
WHERE t.organization_id = @organization_id
  AND (sqlc.narg('statuses')::text[] IS NULL OR t.status = ANY(sqlc.narg('statuses')::text[]))
  AND (sqlc.narg('states')::text[] IS NULL OR o.state = ANY(sqlc.narg('states')::text[]))
  AND (sqlc.narg('phase_ids')::text[] IS NULL OR t.phase_id = ANY(sqlc.narg('phase_ids')::text[]))
  AND (sqlc.narg('has_sandbox')::boolean IS NULL OR (t.sandbox_id IS NOT NULL) = sqlc.narg('has_sandbox'))
  AND (sqlc.narg('ticket_ids')::uuid[] IS NULL OR t.ticket_id = ANY(sqlc.narg('ticket_ids')::uuid[]))
  AND (sqlc.narg('project_ids')::uuid[] IS NULL OR t.project_id = ANY(sqlc.narg('project_ids')::uuid[]))
  AND (sqlc.narg('agents')::text[] IS NULL OR t.agent = ANY(sqlc.narg('agents')::text[]))
  AND (sqlc.narg('ids')::uuid[] IS NULL OR t.id = ANY(sqlc.narg('ids')::uuid[]))
  AND (sqlc.narg('fragments')::text[] IS NULL OR EXISTS (SELECT FROM unnest(sqlc.narg('fragments')::text[]) AS f
       WHERE t.id::text LIKE f || '%' OR t.id::text LIKE '%' || f
       OR right(t.id::text, 8) LIKE f || '%')) -- the beginning of what lists show of an id
  AND (@text::text = '' OR strpos(lower(concat_ws(E'\n', t.title, t.key, t.id, t.branch_name, p.repo)), lower(@text)) > 0)
  AND (sqlc.narg('before_at')::timestamptz IS NULL
       OR (t.created_at, t.id) < (sqlc.narg('before_at')::timestamptz, sqlc.narg('before_id')::uuid))
  AND (sqlc.narg('before_rank')::integer IS NULL OR (o.rank, o.sort_key, t.id)
       < (sqlc.narg('before_rank')::integer, sqlc.narg('before_key')::float8, sqlc.narg('before_id')::uuid))
ORDER BY o.rank DESC, o.sort_key DESC, CASE WHEN sqlc.narg('ranks')::jsonb IS NULL THEN t.created_at END DESC, t.id DESC
LIMIT @max_rows;

-- name: LastSaid :many
-- LastSaid returns the beginning of what the agents of sandboxes said last. It reads at most 200 events of each before its agent waited, and not the heartbeats since. A wait without a sequence ends at the newest event.
SELECT s.id, coalesce(left(e.event_data ->> 'content', 400), '')::text AS content
FROM sandboxes s LEFT JOIN agent_waits w ON w.sandbox_id = s.id CROSS JOIN LATERAL (
    SELECT x.event_data FROM sandbox_events x
    WHERE x.partition_month = s.partition_month AND x.sandbox_id = s.id AND x.event_type = @message
      AND x.sequence <= coalesce(w.sequence, s.last_sequence) AND x.sequence > coalesce(w.sequence - 200, s.last_sequence - 10000)
    ORDER BY x.sequence DESC LIMIT 1) e
WHERE s.id = ANY(@ids::text[]);

-- name: CountTasks :many
-- CountTasks filters as ReadTasks does.
SELECT t.status, t.blocked_reason, (t.status = 'running' AND omoi_agent_waits(t.sandbox_id))::boolean AS agent_waits, count(*) AS tasks
FROM tasks t JOIN projects p ON p.id = t.project_id
WHERE t.organization_id = @organization_id
  AND (sqlc.narg('project_ids')::uuid[] IS NULL OR t.project_id = ANY(sqlc.narg('project_ids')::uuid[]))
  AND (sqlc.narg('agents')::text[] IS NULL OR t.agent = ANY(sqlc.narg('agents')::text[]))
  AND (@text::text = '' OR strpos(lower(concat_ws(E'\n', t.title, t.key, t.id, t.branch_name, p.repo)), lower(@text)) > 0)
GROUP BY 1, 2, 3;

-- name: ReadAttempts :many
-- restored_from is what one of the first events says.
SELECT sqlc.embed(a), sqlc.embed(s), coalesce((SELECT e.event_data ->> 'checkpoint' FROM sandbox_events e
    WHERE e.partition_month = s.partition_month AND e.sandbox_id = s.id AND e.sequence <= 50 AND e.event_type = @restored::text LIMIT 1), '')::text AS restored_from
FROM attempts a JOIN sandboxes s ON s.id = a.sandbox_id
WHERE a.task_id = @task_id ORDER BY a.number;

-- name: PendingCommands :many
-- PendingCommands returns the oldest accepted command of each task that is not settled, except starts.
SELECT DISTINCT ON (task_id) * FROM commands
WHERE task_id = ANY(@task_ids::uuid[]) AND state = 'accepted' AND kind <> 'start'
ORDER BY task_id, ordinal;

-- name: ReadSandbox :one
-- ReadSandbox returns rows without an organization, which are unmanaged sandboxes, only with bare (authentication
-- disabled).
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
  AND (@ended::text = '' OR (s.ended_at IS NOT NULL) = (@ended::text = 'true'))
  AND (sqlc.narg('before_at')::timestamptz IS NULL
       OR (s.created_at, s.id) < (sqlc.narg('before_at')::timestamptz, sqlc.narg('before_id')::text))
ORDER BY s.created_at DESC, s.id DESC
LIMIT @max_rows;

-- name: SandboxOwner :one
-- SandboxOwner returns null for both columns of an unmanaged sandbox.
SELECT organization_id, task_id FROM sandboxes WHERE id = @id;

-- name: TaskStatus :one
-- TaskStatus returns what readers of events need: the status, whether every attempt has ended, and whether no more events
-- follow. An agent reports until its sandbox is deleted or lost. A sandbox that cannot be deleted counts for ten minutes.
SELECT t.status, NOT EXISTS (SELECT FROM attempts a WHERE a.task_id = t.id AND a.ended_at IS NULL) AS ended,
    NOT EXISTS (SELECT FROM attempts a JOIN sandboxes s ON s.id = a.sandbox_id
        WHERE a.task_id = t.id AND (a.ended_at IS NULL OR s.gone_at IS NULL AND s.state <> 'lost'
            AND a.ended_at > now() - interval '10 minutes')) AS silent
FROM tasks t WHERE t.organization_id = @organization_id AND t.id = @id;

-- name: PartPulse :one
-- PartPulse returns the seconds since the newest heartbeat of a component.
SELECT (extract(epoch FROM now() - at))::double precision AS age FROM component_heartbeats WHERE part = @part;
