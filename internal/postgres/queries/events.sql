-- Pages look up the partition month instead of joining sandboxes: behind a join PostgreSQL does not use the order of
-- the primary key, and would sort all events for each page.

-- name: EventPage :many
-- EventPage returns events downwards from a sequence, of one type or without certain types.
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
-- EventCounts returns the stored counts, their last sequence, and the last sequence of the sandbox, 0 if retention
-- removed the events.
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
-- TaskSandboxes returns the sandboxes of a task in order of attempts, with their last sequences.
SELECT s.id, coalesce(s.attempt, 0)::integer AS attempt, s.last_sequence, r.removed_at
FROM sandboxes s LEFT JOIN removals r ON r.subject = s.id AND r.kind = 'events'
WHERE s.task_id = sqlc.arg(task_id) ORDER BY s.attempt, s.created_at;

-- name: EventOutline :many
-- EventOutline returns what lists of events show without their content. Bytes is the stored size, which needs no decompression.
SELECT e.sequence, e.event_type, e.created_at, pg_column_size(e.event_data)::integer AS bytes,
    left(coalesce(e.event_data ->> 'tool', ''), 200)::text AS tool, left(coalesce(e.event_data ->> 'tool_use_id', ''), 200)::text AS call_id,
    coalesce(e.event_data ->> 'is_error' = 'true' OR e.event_data ->> 'success' = 'false'
        OR e.event_type = ANY (sqlc.arg(failures)::text[]), false)::boolean AS failed
FROM sandbox_events e
WHERE e.partition_month = (SELECT s.partition_month FROM sandboxes s WHERE s.id = sqlc.arg(sandbox_id)) AND e.sandbox_id = sqlc.arg(sandbox_id)
  AND e.sequence > sqlc.arg(after) ORDER BY e.sequence LIMIT sqlc.arg(page_limit);

-- name: SearchEvents :many
-- SearchEvents searches the events after a sequence up to another one. The pattern matches the text of the whole JSON.
SELECT e.sequence, e.event_type, e.created_at, e.event_data FROM sandbox_events e
WHERE e.partition_month = (SELECT s.partition_month FROM sandboxes s WHERE s.id = sqlc.arg(sandbox_id)) AND e.sandbox_id = sqlc.arg(sandbox_id)
  AND e.sequence > sqlc.arg(after) AND e.sequence <= sqlc.arg(until)
  AND (cardinality(sqlc.arg(types)::text[]) = 0 OR e.event_type = ANY (sqlc.arg(types)::text[]))
  AND e.event_data::text ILIKE sqlc.arg(pattern)::text
ORDER BY e.sequence LIMIT sqlc.arg(page_limit);
