-- name: LeaseRelays :many
-- LeaseRelays leases due rows without a lease: commands and admissions, events if the rate limit allows them, and rows
-- of a crashed relay. The parameter slow applies to tasks with too many digests.
WITH asked AS (
    SELECT r.task_id, r.leased_by <> '' AS crashed FROM task_outbox r
    WHERE r.due_at <= now() AND (r.lease_until IS NULL OR r.lease_until <= now())
    ORDER BY r.due_at LIMIT sqlc.arg(most) FOR UPDATE SKIP LOCKED
), reported AS (
    SELECT r.task_id, r.leased_by <> '' AS crashed FROM sandboxes s JOIN task_outbox r ON r.sandbox_id = s.id
    WHERE s.events_due_at <= now() AND (r.lease_until IS NULL OR r.lease_until <= now())
      AND r.bucket + extract(epoch FROM now() - r.bucket_at) * CASE
        WHEN r.digests >= sqlc.arg(many)::integer AND r.window_at > now() - sqlc.arg(span)::float8 * interval '1 second'
        THEN sqlc.arg(slow)::float8 ELSE sqlc.arg(rate)::float8 END >= 1
    ORDER BY s.events_due_at LIMIT sqlc.arg(most) FOR UPDATE OF r SKIP LOCKED
), left_behind AS (
    SELECT r.task_id, true AS crashed FROM task_outbox r
    WHERE r.lease_until <= now() AND r.leased_by <> ''
    ORDER BY r.lease_until LIMIT sqlc.arg(most) FOR UPDATE SKIP LOCKED
), picked AS (
    SELECT task_id, bool_or(crashed) AS crashed
    FROM (SELECT * FROM asked UNION ALL SELECT * FROM reported UNION ALL SELECT * FROM left_behind) AS found
    GROUP BY task_id LIMIT sqlc.arg(most)
)
UPDATE task_outbox r SET leased_by = sqlc.arg(owner),
    lease_until = now() + sqlc.arg(lease)::float8 * interval '1 second'
FROM picked p WHERE r.task_id = p.task_id
RETURNING r.task_id, coalesce(r.sandbox_id, '')::text AS sandbox_id, r.admit, r.failures, p.crashed::boolean AS crashed,
    (r.bucket + extract(epoch FROM now() - r.bucket_at) * CASE
        WHEN r.digests >= sqlc.arg(many)::integer AND r.window_at > now() - sqlc.arg(span)::float8 * interval '1 second'
        THEN sqlc.arg(slow)::float8 ELSE sqlc.arg(rate)::float8 END >= 1)::boolean AS room;

-- name: RelayCommands :many
SELECT c.id, c.kind, (c.claimed_by IS NOT NULL)::boolean AS claimed, coalesce(c.args ->> 'traceparent',
    '')::text AS trace, coalesce(c.args ->> 'checkpoint', '')::text AS checkpoint,
    c.created_at, t.key, t.title, t.description, t.status
FROM commands c JOIN tasks t ON t.id = c.task_id
WHERE c.task_id = sqlc.arg(task_id) AND c.sent_at IS NULL AND c.state = 'accepted'
ORDER BY c.ordinal LIMIT sqlc.arg(most);

-- name: CommandSent :exec
UPDATE commands SET sent_at = now() WHERE id = sqlc.arg(id) AND sent_at IS NULL;

-- name: CommandOver :exec
UPDATE commands SET state = sqlc.arg(state), reason = sqlc.arg(reason), settled_at = now()
WHERE id = sqlc.arg(id) AND state = 'accepted';

-- name: LeftSandboxes :many
-- LeftSandboxes returns the sandboxes of ended attempts that may still exist; recent: the attempt ended at most wait
-- ago.
SELECT s.id, a.number, (a.ended_at > now() - @wait::interval)::boolean AS recent
FROM attempts a JOIN sandboxes s ON s.id = a.sandbox_id
WHERE a.task_id = @task_id AND a.ended_at IS NOT NULL AND s.gone_at IS NULL AND s.verified_at IS NULL
    AND s.state NOT IN ('gone', 'lost')
ORDER BY a.number;

-- name: SlotGranted :one
SELECT granted_at FROM slots WHERE task_id = sqlc.arg(task_id);

-- name: RecallEvents :exec
-- RecallEvents makes events due again that a crashed relay had taken.
UPDATE sandboxes SET events_due_at = now()
WHERE id = sqlc.arg(id) AND events_due_at IS NULL AND last_sequence > relayed;

-- name: TakeEvents :one
-- TakeEvents clears the due time. Later events set it again.
UPDATE sandboxes SET events_due_at = NULL
WHERE id = sqlc.arg(id) AND events_due_at <= now()
RETURNING last_sequence, relayed;

-- name: PutEventsBack :exec
UPDATE sandboxes SET events_due_at = least(events_due_at, now() + sqlc.arg(pause)::float8 * interval '1 second')
WHERE id = sqlc.arg(id);

-- name: MoveRelayed :exec
UPDATE sandboxes SET relayed = sqlc.arg(until), counters = sqlc.arg(counters),
    events_due_at = CASE WHEN last_sequence > sqlc.arg(until) THEN coalesce(events_due_at, now()) END
WHERE id = sqlc.arg(id) AND relayed = sqlc.arg(before)::bigint;

-- name: LockRelay :one
SELECT task_id FROM task_outbox WHERE task_id = sqlc.arg(task_id) AND leased_by = sqlc.arg(owner) FOR UPDATE;

-- name: SettleRelay :one
-- SettleRelay runs under the lock of LockRelay, so that it sees commands that arrived meanwhile. The result again is
-- true if more is due at once.
WITH next AS (
    SELECT r.task_id,
        r.admit AND NOT (sqlc.arg(told)::boolean AND sqlc.narg(granted_at)::timestamptz IS NOT DISTINCT FROM
            (SELECT s.granted_at FROM slots s WHERE s.task_id = r.task_id)) AS admit,
        EXISTS (SELECT FROM commands c WHERE c.task_id = r.task_id AND c.sent_at IS NULL
            AND c.state = 'accepted') AS asked,
        r.digests >= sqlc.arg(many)::integer AND r.window_at > now() - sqlc.arg(span)::float8 * interval '1 second' AS slowed
    FROM task_outbox r WHERE r.task_id = sqlc.arg(task_id)
)
UPDATE task_outbox r SET leased_by = '', failures = sqlc.arg(failures), error = sqlc.arg(error), admit = n.admit,
    lease_until = CASE WHEN sqlc.arg(pause)::float8 > 0 THEN now() + sqlc.arg(pause)::float8 * interval '1 second' END,
    due_at = CASE WHEN n.admit OR n.asked THEN now() + sqlc.arg(hold)::float8 * interval '1 second' END,
    bucket = CASE WHEN sqlc.arg(token)::boolean THEN least(sqlc.arg(burst)::float8, r.bucket + extract(epoch
        FROM now() - r.bucket_at)
        * CASE WHEN n.slowed THEN sqlc.arg(slow)::float8 ELSE sqlc.arg(rate)::float8 END) - 1 ELSE r.bucket END,
    bucket_at = CASE WHEN sqlc.arg(token)::boolean THEN now() ELSE r.bucket_at END,
    digests = CASE WHEN NOT sqlc.arg(digest)::boolean THEN r.digests
        WHEN r.window_at <= now() - sqlc.arg(span)::float8 * interval '1 second' THEN 1 ELSE r.digests + 1 END,
    window_at = CASE WHEN sqlc.arg(digest)::boolean
        AND r.window_at <= now() - sqlc.arg(span)::float8 * interval '1 second'
        THEN now() ELSE r.window_at END
FROM next n WHERE r.task_id = n.task_id
RETURNING (coalesce(r.lease_until, now()) <= now() AND (coalesce(r.due_at <= now(), false) OR EXISTS (
    SELECT FROM sandboxes s WHERE s.id = r.sandbox_id AND s.events_due_at <= now())))::boolean AS again;

-- name: EndRelayPauses :exec
-- EndRelayPauses skips rows that another transaction has locked, which are not in a pause.
UPDATE task_outbox SET lease_until = NULL WHERE task_id IN (
    SELECT r.task_id FROM task_outbox r WHERE r.lease_until > now() AND r.leased_by = '' FOR UPDATE SKIP LOCKED);

-- name: SweepEvents :exec
-- SweepEvents clears due events of sandboxes that no relay row names.
UPDATE sandboxes SET events_due_at = NULL WHERE id IN (
    SELECT s.id FROM sandboxes s
    WHERE s.events_due_at <= now() AND NOT EXISTS (SELECT FROM task_outbox r WHERE r.sandbox_id = s.id)
    ORDER BY s.id LIMIT 1000 FOR NO KEY UPDATE SKIP LOCKED);
