-- name: MessageSandbox :one
-- MessageSandbox locks the sandbox, so that no message is accepted while the attempt ends or above the limit.
SELECT s.id, s.state, (s.ended_at IS NOT NULL OR s.state IN ('gone', 'lost'))::boolean AS ended,
    coalesce(t.status, '')::text AS task_status, (t.sandbox_id IS NOT NULL
        AND t.sandbox_id <> s.id)::boolean AS goes_on,
    (SELECT count(*) FROM messages m WHERE m.sandbox_id = s.id AND m.state IN ('accepted', 'delivered')
        AND m.settled_at IS NULL) AS open
FROM sandboxes s LEFT JOIN tasks t ON t.id = s.task_id
WHERE s.id = sqlc.arg(id) FOR NO KEY UPDATE OF s;

-- name: AgentLeft :one
-- AgentLeft is a separate statement, so that it sees commits that happened while MessageSandbox waited for its lock.
SELECT EXISTS (SELECT FROM agent_shutdowns WHERE sandbox_id = sqlc.arg(sandbox_id));

-- name: InsertMessage :one
-- InsertMessage inserts no row if the idempotency key is taken.
INSERT INTO messages (id, sandbox_id, kind, content, sender_kind, sender_id, state, reason, key_scope, idempotency_key,
    body_hash, settled_at)
VALUES (sqlc.arg(id), sqlc.arg(sandbox_id), sqlc.arg(kind), sqlc.arg(content), sqlc.arg(sender_kind),
    sqlc.arg(sender_id), sqlc.arg(state), sqlc.arg(reason),
    sqlc.narg(key_scope), sqlc.narg(idempotency_key), sqlc.narg(body_hash),
    CASE WHEN sqlc.arg(state) = 'refused' THEN now() END)
ON CONFLICT (key_scope, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
RETURNING *;

-- name: MessageOfKey :one
SELECT sqlc.embed(m), s.state AS sandbox_state FROM messages m JOIN sandboxes s ON s.id = m.sandbox_id
WHERE m.key_scope = sqlc.arg(key_scope)::text AND m.idempotency_key = sqlc.arg(idempotency_key)::text;

-- name: MessagesDue :one
SELECT EXISTS (SELECT FROM messages m WHERE m.sandbox_id = sqlc.arg(sandbox_id)
    AND (sqlc.arg(kind)::text IN ('', m.kind))
    AND (m.state = 'accepted' OR (m.state = 'delivered' AND (m.lease_until <= now()
        OR m.leased_by = nullif(sqlc.arg(again)::text, '') AND m.settled_at IS NULL))));

-- name: LeaseMessages :many
-- LeaseMessages returns the same messages for a repeated poll, whose response was lost. For a legacy worker, a message
-- is settled after three deliveries.
WITH due AS (
    SELECT m.id, sqlc.arg(taker)::text = '' AND m.leased_by = '' AND m.deliveries >= sqlc.arg(times)::integer AS spent
        FROM messages m
    WHERE m.sandbox_id = sqlc.arg(sandbox_id)
      AND (sqlc.arg(kind)::text IN ('', m.kind))
      AND (m.state = 'accepted' OR (m.state = 'delivered' AND (m.lease_until <= now()
          OR m.leased_by = nullif(sqlc.arg(again)::text, '') AND m.settled_at IS NULL)))
    ORDER BY (m.kind = 'interrupt') DESC, m.ordinal
    LIMIT sqlc.arg(most) FOR UPDATE SKIP LOCKED
)
UPDATE messages m SET state = 'delivered', leased_by = sqlc.arg(taker),
    delivered_at = CASE WHEN d.spent THEN m.delivered_at ELSE now() END,
    deliveries = m.deliveries + CASE WHEN d.spent THEN 0 ELSE 1 END,
    lease_until = CASE WHEN NOT d.spent THEN now() + sqlc.arg(lease)::float8 * interval '1 second' END,
    settled_at = CASE WHEN d.spent THEN now() END, reason = CASE WHEN d.spent THEN sqlc.arg(reason) ELSE m.reason END
FROM due d WHERE m.id = d.id
RETURNING m.*;

-- name: AckMessage :execrows
-- AckMessage lets one taker acknowledge an open message. The same taker may repeat the call.
UPDATE messages SET state = CASE WHEN state = 'answered' THEN state ELSE 'taken_up' END,
    settled_at = coalesce(settled_at, now()), lease_until = NULL, taker = sqlc.arg(taker), reason = ''
WHERE sandbox_id = sqlc.arg(sandbox_id) AND id = sqlc.arg(id) AND (state IN ('accepted', 'delivered')
    OR (state IN ('taken_up', 'answered') AND taker = sqlc.arg(taker) AND taker <> ''));

-- name: GetMessage :one
SELECT sqlc.embed(m), s.organization_id, s.task_id
FROM messages m JOIN sandboxes s ON s.id = m.sandbox_id WHERE m.id = sqlc.arg(id);

-- name: MessageWriter :one
-- MessageWriter returns what determines whether the agent of a sandbox may write to other agents.
SELECT s.organization_id, t.project_id, (s.ended_at IS NOT NULL OR s.state IN ('gone', 'lost'))::boolean AS ended,
    p.agents_may_message, p.name AS project
FROM sandboxes s JOIN tasks t ON t.id = s.task_id JOIN projects p ON p.id = t.project_id
WHERE s.id = sqlc.arg(id);

-- name: AgentOfSandbox :one
SELECT s.id FROM sandboxes s JOIN tasks t ON t.id = s.task_id
WHERE s.id = sqlc.arg(id) AND t.project_id = sqlc.arg(project_id);

-- name: AgentOfTask :one
-- AgentOfTask returns an empty ID between attempts.
SELECT coalesce(sandbox_id, '')::text AS sandbox_id FROM tasks WHERE id = sqlc.arg(id)
    AND project_id = sqlc.arg(project_id);

-- name: Interrupters :many
-- Interrupters returns the sender of the newest interrupt that stopped the agent of each sandbox.
SELECT DISTINCT ON (sandbox_id) sandbox_id, sender_kind FROM messages
WHERE sandbox_id = ANY (@ids::text[]) AND kind = 'interrupt' AND state = 'answered'
ORDER BY sandbox_id, ordinal DESC;
