-- name: BusBound :one
-- BusBound returns the transaction ID below which no open transaction can write to the bus, and the time of the
-- database.
SELECT omoi_bus_bound()::bigint AS xid, clock_timestamp()::timestamptz AS now;

-- name: BusEvents :many
SELECT xid, id, event_type, entity_type, entity_id, payload FROM bus_events
WHERE (xid, id) > (sqlc.arg(after_xid)::bigint, sqlc.arg(after_id)::bigint) AND xid < sqlc.arg(bound)::bigint
  AND (organization_id = sqlc.arg(organization_id)::uuid OR (organization_id IS NULL AND sqlc.arg(bare)::boolean))
ORDER BY xid, id LIMIT sqlc.arg(page_limit);

-- name: MovedSandboxes :many
-- MovedSandboxes returns the sandboxes with events since a time, and their last sequences.
SELECT id, last_sequence FROM sandboxes WHERE last_event_at >= sqlc.arg(since)
  AND (organization_id = sqlc.arg(organization_id)::uuid OR (organization_id IS NULL AND sqlc.arg(bare)::boolean));

-- name: SandboxPlace :one
-- SandboxPlace returns the last sequence of a sandbox before a time.
SELECT (coalesce(min(e.sequence), s.last_sequence + 1) - 1)::bigint AS place
FROM sandboxes s LEFT JOIN sandbox_events e ON e.partition_month = s.partition_month AND e.sandbox_id = s.id AND e.created_at >= sqlc.arg(since)
WHERE s.id = sqlc.arg(sandbox_id)
  AND (s.organization_id = sqlc.arg(organization_id)::uuid OR (s.organization_id IS NULL AND sqlc.arg(bare)::boolean))
GROUP BY s.id;

-- name: TrimBus :exec
-- TrimBus runs with each new task and deletes up to 50 rows older than a day, more than a task adds.
DELETE FROM bus_events WHERE (SELECT created_at FROM bus_events ORDER BY id LIMIT 1) < now() - interval '1 day' AND id = ANY (ARRAY(
    SELECT id FROM (SELECT id, created_at FROM bus_events ORDER BY id LIMIT 50 FOR UPDATE SKIP LOCKED) AS oldest
    WHERE created_at < now() - interval '1 day'));
