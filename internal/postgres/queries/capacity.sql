-- name: ProjectCapacities :many
SELECT p.id, p.key, p.name, p.max_slots, p.paused, coalesce(h.tasks, 0)::integer AS running, coalesce(q.tasks, 0)::integer AS queued
FROM projects p
LEFT JOIN (SELECT project_id, count(*) AS tasks FROM slots WHERE slots.organization_id = @organization_id GROUP BY project_id) h ON h.project_id = p.id
LEFT JOIN (SELECT project_id, count(*) AS tasks FROM tasks WHERE tasks.organization_id = @organization_id AND queued_at IS NOT NULL GROUP BY project_id) q
    ON q.project_id = p.id
WHERE p.organization_id = @organization_id AND p.deleted_at IS NULL
ORDER BY running DESC, queued DESC, p.name, p.id LIMIT 500;

-- name: OldestQueued :one
SELECT queued_at FROM tasks WHERE organization_id = @organization_id AND queued_at IS NOT NULL ORDER BY queued_at LIMIT 1;

-- name: SandboxCapacity :one
-- SandboxCapacity counts as Hosts does.
SELECT count(*) FILTER (WHERE ended_at IS NULL AND state <> 'lost')::integer AS running,
    count(*) FILTER (WHERE ended_at IS NOT NULL AND state <> 'lost')::integer AS unverified,
    count(*) FILTER (WHERE state = 'lost')::integer AS lost
FROM sandboxes WHERE organization_id = @organization_id AND verified_at IS NULL AND machine;

-- name: OldestUnverified :one
SELECT ended_at FROM sandboxes
WHERE organization_id = @organization_id AND verified_at IS NULL AND machine AND state <> 'lost' AND ended_at IS NOT NULL ORDER BY ended_at LIMIT 1;

-- name: UnmeteredOfOrganization :many
-- UnmeteredOfOrganization returns running sandboxes only, as UnmeteredOfProject does.
SELECT s.id FROM slots h JOIN sandboxes s ON s.task_id = h.task_id AND s.ended_at IS NULL AND s.last_sequence > s.metered
WHERE h.organization_id = @organization_id ORDER BY s.id;

-- name: UsageByDay :many
-- UsageByDay does not count sandboxes in which no attempt runs, as those of repeated tests.
SELECT (s.created_at AT TIME ZONE 'UTC')::date AS day, count(a.number)::integer AS attempts, sum(s.input_tokens + s.output_tokens)::bigint AS tokens,
    sum(s.cost_usd)::float8 AS usd, bool_or(s.cost_unknown)::boolean AS cost_unknown
FROM sandboxes s LEFT JOIN tasks t ON t.id = s.task_id LEFT JOIN attempts a ON a.sandbox_id = s.id
WHERE s.organization_id = @organization_id AND s.created_at >= @since
  AND (sqlc.narg('project_ids')::uuid[] IS NULL OR t.project_id = ANY(sqlc.narg('project_ids')::uuid[]))
GROUP BY day ORDER BY day;
