-- Pages join no sandbox, but look up its partition month: behind a join PostgreSQL does not know that the
-- key's order is the page's, and would sort all events for each page.

-- name: EventPage :many
-- Newest first, from a number on; of one type, and without others.
SELECT e.sequence, e.event_type, e.source, e.event_data, e.late, e.created_at,
    coalesce((SELECT s.attempt FROM sandboxes s WHERE s.id = sqlc.arg(sandbox_id)), 0)::integer AS attempt,
    CASE WHEN e.cut THEN omoi_omitted_fields(e.partition_month, e.sandbox_id, e.sequence) END::text[] AS omitted
FROM sandbox_events e
WHERE e.partition_month = (SELECT s.partition_month FROM sandboxes s WHERE s.id = sqlc.arg(sandbox_id)) AND e.sandbox_id = sqlc.arg(sandbox_id)
  AND e.sequence <= sqlc.arg(newest) AND sqlc.arg(event_type)::text IN ('', e.event_type) AND NOT coalesce(e.event_type = ANY (sqlc.arg(but)::text[]), false)
ORDER BY e.sequence DESC LIMIT sqlc.arg(page_limit) OFFSET sqlc.arg(skip);

-- name: EventsAfter :many
SELECT e.sequence, e.event_type, e.source, e.event_data, e.late, e.created_at,
    coalesce((SELECT s.attempt FROM sandboxes s WHERE s.id = sqlc.arg(sandbox_id)), 0)::integer AS attempt,
    CASE WHEN e.cut THEN omoi_omitted_fields(e.partition_month, e.sandbox_id, e.sequence) END::text[] AS omitted
FROM sandbox_events e
WHERE e.partition_month = (SELECT s.partition_month FROM sandboxes s WHERE s.id = sqlc.arg(sandbox_id)) AND e.sandbox_id = sqlc.arg(sandbox_id)
  AND e.sequence > sqlc.arg(after) AND NOT coalesce(e.event_type = ANY (sqlc.arg(but)::text[]), false)
ORDER BY e.sequence LIMIT sqlc.arg(page_limit);

-- name: EventCounts :one
-- What is counted up to where, and the newest sequence; 0 where retention removed the events.
SELECT s.partition_month, (CASE WHEN EXISTS (SELECT FROM removals r WHERE r.subject = s.id AND r.kind = 'events') THEN 0 ELSE s.last_sequence END)::bigint AS last_sequence, coalesce(c.up_to_sequence, 0)::bigint AS up_to_sequence, coalesce(c.types, '{}')::jsonb AS types
FROM sandboxes s LEFT JOIN event_counts c ON c.sandbox_id = s.id WHERE s.id = sqlc.arg(sandbox_id);

-- name: CountEvents :many
SELECT event_type, count(*) AS events, min(sequence)::bigint AS first, max(sequence)::bigint AS last FROM sandbox_events
WHERE partition_month = sqlc.arg(partition_month) AND sandbox_id = sqlc.arg(sandbox_id) AND sequence > sqlc.arg(after) AND sequence <= sqlc.arg(until)
GROUP BY event_type;

-- name: KeepCounts :exec
INSERT INTO event_counts (sandbox_id, up_to_sequence, types) VALUES (sqlc.arg(sandbox_id), sqlc.arg(up_to_sequence), sqlc.arg(types))
ON CONFLICT (sandbox_id) DO UPDATE SET up_to_sequence = excluded.up_to_sequence, types = excluded.types
WHERE event_counts.up_to_sequence < excluded.up_to_sequence;

-- name: TaskSandboxes :many
-- The sandboxes of a task in the order of attempts, and the numbers of their newest events.
SELECT s.id, coalesce(s.attempt, 0)::integer AS attempt, s.last_sequence, r.removed_at
FROM sandboxes s LEFT JOIN removals r ON r.subject = s.id AND r.kind = 'events'
WHERE s.task_id = sqlc.arg(task_id) ORDER BY s.attempt, s.created_at;
