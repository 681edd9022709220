-- Pages join no sandbox, but look its birth up: behind a join PostgreSQL does not know that the
-- key's order is the page's, and would sort all events for each page.

-- name: EventPage :many
-- Newest first, from a number on.
SELECT e.sequence, e.event_type, e.source, e.event_data, e.late, e.created_at,
    coalesce((SELECT s.attempt FROM sandboxes s WHERE s.id = sqlc.arg(sandbox_id)), 0)::integer AS attempt,
    CASE WHEN e.cut THEN omoi_omitted(e.birth, e.sandbox_id, e.sequence) END::text[] AS omitted
FROM sandbox_events e
WHERE e.birth = (SELECT s.birth FROM sandboxes s WHERE s.id = sqlc.arg(sandbox_id)) AND e.sandbox_id = sqlc.arg(sandbox_id)
  AND e.sequence <= sqlc.arg(newest)
ORDER BY e.sequence DESC LIMIT sqlc.arg(page_limit);

-- name: EventsAfter :many
SELECT e.sequence, e.event_type, e.source, e.event_data, e.late, e.created_at,
    coalesce((SELECT s.attempt FROM sandboxes s WHERE s.id = sqlc.arg(sandbox_id)), 0)::integer AS attempt,
    CASE WHEN e.cut THEN omoi_omitted(e.birth, e.sandbox_id, e.sequence) END::text[] AS omitted
FROM sandbox_events e
WHERE e.birth = (SELECT s.birth FROM sandboxes s WHERE s.id = sqlc.arg(sandbox_id)) AND e.sandbox_id = sqlc.arg(sandbox_id)
  AND e.sequence > sqlc.arg(after)
ORDER BY e.sequence LIMIT sqlc.arg(page_limit);

-- name: EventCounts :one
-- What is counted up to where, and the newest sequence; 0 where retention removed the events. What has no places behind it does not count.
SELECT s.birth, (CASE WHEN EXISTS (SELECT FROM removals r WHERE r.subject = s.id AND r.kind = 'events') THEN 0 ELSE s.head END)::bigint AS head, coalesce(c.upto, 0)::bigint AS upto, coalesce(c.types, '{}')::jsonb AS types
FROM sandboxes s LEFT JOIN event_counts c ON c.sandbox_id = s.id AND c.placed = c.upto WHERE s.id = sqlc.arg(sandbox_id);

-- name: CountEvents :many
SELECT event_type, count(*) AS events, min(sequence)::bigint AS first, max(sequence)::bigint AS last FROM sandbox_events
WHERE birth = sqlc.arg(birth) AND sandbox_id = sqlc.arg(sandbox_id) AND sequence > sqlc.arg(after) AND sequence <= sqlc.arg(until)
GROUP BY event_type;

-- name: LockCounts :exec
-- One reader makes the blocks of a sandbox; others wait, and find them made.
SELECT pg_advisory_xact_lock(hashtextextended('omoi counts ' || @sandbox_id::text, 0));

-- name: KeepCounts :exec
INSERT INTO event_counts (sandbox_id, upto, placed, types) VALUES (sqlc.arg(sandbox_id), sqlc.arg(upto), sqlc.arg(upto), sqlc.arg(types))
ON CONFLICT (sandbox_id) DO UPDATE SET upto = excluded.upto, placed = excluded.placed, types = excluded.types;

-- name: TaskSandboxes :many
-- The sandboxes of a task in the order of attempts, and the numbers of their newest events.
SELECT s.id, coalesce(s.attempt, 0)::integer AS attempt, s.head, r.removed_at
FROM sandboxes s LEFT JOIN removals r ON r.subject = s.id AND r.kind = 'events'
WHERE s.task_id = sqlc.arg(task_id) ORDER BY s.attempt, s.created_at;
