-- name: EventBySequence :one
-- EventBySequence returns an event with its large fields.
SELECT e.sequence, e.event_type, e.source,
    CASE WHEN e.cut THEN omoi_full_event(e.partition_month, e.sandbox_id, e.sequence, e.event_data) ELSE e.event_data END::jsonb AS event_data,
    e.late, e.created_at, coalesce(s.attempt, 0)::integer AS attempt,
    CASE WHEN e.cut THEN omoi_omitted_fields(e.partition_month, e.sandbox_id, e.sequence) END::text[] AS omitted
FROM sandboxes s JOIN sandbox_events e ON e.partition_month = s.partition_month AND e.sandbox_id = s.id
WHERE s.id = sqlc.arg(sandbox_id) AND e.sequence = sqlc.arg(sequence);

-- name: EventTime :one
SELECT e.created_at, left(coalesce(e.event_data ->> 'status', ''), 100)::text AS status
FROM sandboxes s JOIN sandbox_events e ON e.partition_month = s.partition_month AND e.sandbox_id = s.id
WHERE s.id = sqlc.arg(sandbox_id) AND e.sequence = sqlc.arg(sequence);

-- name: IntegrityHead :one
SELECT last_sequence, relayed, duplicates, spool_id, spool_watermark FROM sandboxes WHERE id = sqlc.arg(sandbox_id);

-- name: IntegrityStored :one
SELECT count(*) AS stored, coalesce(max(e.sequence), 0)::bigint AS newest
FROM sandboxes s JOIN sandbox_events e ON e.partition_month = s.partition_month AND e.sandbox_id = s.id
WHERE s.id = sqlc.arg(sandbox_id);

-- name: IntegrityGaps :many
-- IntegrityGaps returns the ranges of 1..last_sequence without events.
SELECT (e.before + 1)::bigint AS first, (e.sequence - 1)::bigint AS last FROM (
    SELECT x.sequence, coalesce(lag(x.sequence) OVER (ORDER BY x.sequence), 0) AS before FROM (
        SELECT e.sequence FROM sandboxes s JOIN sandbox_events e ON e.partition_month = s.partition_month AND e.sandbox_id = s.id
        WHERE s.id = sqlc.arg(sandbox_id)
        UNION ALL SELECT s.last_sequence + 1 FROM sandboxes s WHERE s.id = sqlc.arg(sandbox_id)
    ) x
) e WHERE e.sequence > e.before + 1 ORDER BY e.sequence LIMIT sqlc.arg(most);

-- name: IntegritySpools :many
SELECT spool_id, watermark FROM event_spools WHERE sandbox_id = sqlc.arg(sandbox_id) ORDER BY spool_id;

-- name: SpecProgress :one
-- SpecProgress omits the outputs of the phases, which the caller does not use.
SELECT p.spec_id, p.status, p.current_phase, p.progress, p.started, p.completed, p.last_completed, p.last_completed_at,
    p.execution_completed_at, p.execution_failed_at, p.criteria, clock_timestamp()::timestamptz AS now FROM spec_progress p WHERE p.sandbox_id = sqlc.arg(sandbox_id);

-- name: LastActivity :one
SELECT s.last_work_at, (s.ended_at IS NOT NULL)::boolean AS ended, clock_timestamp()::timestamptz AS now
FROM sandboxes s WHERE s.id = sqlc.arg(sandbox_id);
