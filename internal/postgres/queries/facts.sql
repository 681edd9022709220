-- name: FactsHead :one
SELECT partition_month, last_sequence, relayed, counters, task_id FROM sandboxes WHERE id = @id;

-- name: Facts :many
-- Facts returns data for milestones only, because the digest needs no other.
SELECT sequence, event_type, created_at,
    CASE WHEN event_type <> ALL (@milestones::text[]) THEN '{}' WHEN cut THEN omoi_full_event(partition_month, sandbox_id, sequence, event_data)
        ELSE event_data END::jsonb AS event_data
FROM sandbox_events
WHERE partition_month = @partition_month AND sandbox_id = @sandbox_id AND sequence > @after AND sequence <= @until
ORDER BY sequence LIMIT @most;

-- name: CountTypes :many
SELECT event_type, count(*) AS events FROM sandbox_events
WHERE partition_month = @partition_month AND sandbox_id = @sandbox_id AND sequence <= @until
GROUP BY event_type;

-- name: Decisive :many
-- Decisive returns the newest completion event of each type of a sandbox.
SELECT DISTINCT ON (e.event_type) e.event_type, e.sequence,
    CASE WHEN e.cut THEN omoi_full_event(e.partition_month, e.sandbox_id, e.sequence, e.event_data) ELSE e.event_data END::jsonb AS event_data
FROM sandboxes s JOIN sandbox_events e ON e.partition_month = s.partition_month AND e.sandbox_id = s.id
WHERE s.id = @sandbox_id AND e.event_type = ANY (@completions::text[])
ORDER BY e.event_type, e.sequence DESC;

-- name: HasEvent :one
SELECT EXISTS (SELECT FROM sandboxes s JOIN sandbox_events e ON e.partition_month = s.partition_month AND e.sandbox_id = s.id
    WHERE s.id = @sandbox_id AND e.event_type = @event_type);

-- name: Acted :one
-- Acted reports whether a sandbox has an event that shows an act of its agent. An empty message shows none.
SELECT EXISTS (SELECT FROM sandboxes s JOIN sandbox_events e ON e.partition_month = s.partition_month AND e.sandbox_id = s.id
    WHERE s.id = @sandbox_id AND e.event_type <> ALL (@idle::text[]) AND (e.event_data ->> 'content' ~ '\S') IS NOT FALSE);
