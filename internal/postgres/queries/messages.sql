-- name: MessageSandbox :one
SELECT (ended_at IS NOT NULL OR state IN ('gone', 'lost'))::boolean AS ended,
    ((coalesce(verified_at, CASE WHEN provider IN ('external', 'bare') AND state = 'gone' THEN gone_at END)
        < now() - interval '1 hour') IS TRUE)::boolean AS over
FROM sandboxes WHERE id = sqlc.arg(id);

-- name: InsertMessage :one
INSERT INTO messages (id, sandbox_id, kind, content, sender_kind, sender_id, state, reason, settled_at)
VALUES (sqlc.arg(id), sqlc.arg(sandbox_id), sqlc.arg(kind), sqlc.arg(content), sqlc.arg(sender_kind), sqlc.arg(sender_id), sqlc.arg(state), sqlc.arg(reason),
    CASE WHEN sqlc.arg(state) = 'refused' THEN now() END)
RETURNING *;

-- name: LeaseMessages :many
WITH due AS (
    SELECT m.id FROM messages m
    WHERE m.sandbox_id = sqlc.arg(sandbox_id)
      AND (m.state = 'accepted' OR (m.state = 'delivered' AND m.lease_until <= now()))
    ORDER BY (m.kind = 'interrupt') DESC, m.ordinal
    LIMIT sqlc.arg(most) FOR UPDATE SKIP LOCKED
)
UPDATE messages SET state = 'delivered', delivered_at = now(), deliveries = deliveries + 1,
    lease_until = now() + sqlc.arg(lease)::float8 * interval '1 second'
WHERE id IN (SELECT id FROM due)
RETURNING *;

-- name: ExpireMessages :execrows
UPDATE messages m SET state = 'expired', settled_at = now(), lease_until = NULL,
    reason = 'The attempt ended before the agent took the message up.'
FROM sandboxes s
WHERE s.id = m.sandbox_id AND m.sandbox_id = sqlc.arg(sandbox_id) AND m.state IN ('accepted', 'delivered')
  AND (s.ended_at IS NOT NULL OR s.state IN ('gone', 'lost'));

-- name: AckMessages :execrows
UPDATE messages SET state = 'taken_up', settled_at = now(), lease_until = NULL
WHERE sandbox_id = sqlc.arg(sandbox_id) AND id = ANY(sqlc.arg(ids)::uuid[]) AND state IN ('accepted', 'delivered');

-- name: GetMessage :one
SELECT * FROM messages WHERE id = sqlc.arg(id);
