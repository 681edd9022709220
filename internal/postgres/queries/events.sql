-- name: EventPage :many
SELECT e.sequence, e.event_type, e.source, e.event_data, e.late, e.created_at, coalesce(s.attempt, 0)::integer AS attempt
FROM sandboxes s JOIN sandbox_events e ON e.birth = s.birth AND e.sandbox_id = s.id
WHERE s.id = sqlc.arg(sandbox_id) AND (sqlc.arg(event_type)::text = '' OR e.event_type = sqlc.arg(event_type))
ORDER BY e.sequence DESC LIMIT sqlc.arg(page_limit) OFFSET sqlc.arg(page_offset);

-- name: EventsAfter :many
SELECT e.sequence, e.event_type, e.source, e.event_data, e.late, e.created_at, coalesce(s.attempt, 0)::integer AS attempt
FROM sandboxes s JOIN sandbox_events e ON e.birth = s.birth AND e.sandbox_id = s.id
WHERE s.id = sqlc.arg(sandbox_id) AND e.sequence > sqlc.arg(after)
ORDER BY e.sequence LIMIT sqlc.arg(page_limit);

-- name: EventTotals :one
-- The newest sequence, and of one type the number up to the relayed sequence plus the rows after it.
SELECT s.head, (coalesce((s.counters ->> sqlc.arg(event_type)::text)::bigint, 0) + (
        SELECT count(*) FROM sandbox_events e
        WHERE e.birth = s.birth AND e.sandbox_id = s.id AND e.sequence > s.relayed AND e.event_type = sqlc.arg(event_type)
    ))::bigint AS of_type
FROM sandboxes s WHERE s.id = sqlc.arg(sandbox_id);

-- name: TaskSandboxes :many
-- The sandboxes of a task from an attempt on, in the order of attempts.
SELECT id, coalesce(attempt, 0)::integer AS attempt FROM sandboxes
WHERE task_id = sqlc.arg(task_id) AND coalesce(attempt, 0) >= sqlc.arg(attempt)::integer ORDER BY attempt, created_at;
