-- name: ReceiptSandboxes :many
SELECT sqlc.embed(s), omoi_lifetime_seconds(s.machine, s.host_bound, s.created_at, s.made_at, s.started_at, s.gone_at)::float8 AS seconds_alive
FROM sandboxes s WHERE s.task_id = @task_id ORDER BY s.attempt, s.created_at, s.id;

-- name: VisitsOfTask :many
SELECT v.* FROM access_sessions v JOIN sandboxes s ON s.id = v.sandbox_id WHERE s.task_id = @task_id ORDER BY v.began_at, v.id;

-- name: BeginVisit :one
INSERT INTO access_sessions (id, organization_id, sandbox_id, visitor, kind, what)
VALUES (@id, sqlc.narg('organization_id'), @sandbox_id, @visitor, @kind, @what) RETURNING *;

-- name: EndVisit :execrows
-- EndVisit keeps the first recorded end.
UPDATE access_sessions SET ended_at = now(), outcome = @outcome
WHERE id = @id AND sandbox_id = @sandbox_id AND organization_id IS NOT DISTINCT FROM sqlc.narg('organization_id') AND ended_at IS NULL;

-- name: WantLog :one
-- WantLog requests the log for the time patience.
INSERT INTO log_requests (sandbox_id, wanted_until) VALUES (@sandbox_id, now() + @patience::interval)
ON CONFLICT (sandbox_id) DO UPDATE SET wanted_until = greatest(log_requests.wanted_until, excluded.wanted_until)
RETURNING now()::timestamptz AS asked_at;

-- name: LogLook :one
-- LogLook reports whether the log was read since asked_at, and whether it has ended.
SELECT coalesce(looked_at >= @asked_at, false)::boolean AS fresh, (kept_at IS NOT NULL)::boolean AS kept
FROM log_requests WHERE sandbox_id = @sandbox_id;

-- name: LogParts :many
-- LogParts returns whole parts up to max_bytes, at least one.
SELECT p.first, p.last, p.content AS text FROM (
    SELECT l.first, l.last, l.content, sum(l.last - l.first) OVER (ORDER BY l.first) AS total, row_number() OVER (ORDER BY l.first) AS place
    FROM log_parts l WHERE l.sandbox_id = @sandbox_id AND l.last > @after::bigint
) p WHERE p.total <= @max_bytes::bigint OR p.place = 1 ORDER BY p.first;

-- name: WantedLogs :many
SELECT s.id, coalesce(s.task_id::text, '')::text AS task_id, s.provider, s.labels,
    coalesce((SELECT max(p.last) FROM log_parts p WHERE p.sandbox_id = s.id), 0)::bigint AS read
FROM log_requests l JOIN sandboxes s ON s.id = l.sandbox_id
WHERE l.wanted_until > now() AND l.kept_at IS NULL AND s.state IN ('running', 'deleting')
    AND (s.host_id = @host_id::text OR s.host_id IS NULL) AND s.provider = ANY (@providers::text[])
ORDER BY s.id LIMIT 100;

-- name: LockLog :one
-- LockLog creates the row if it does not exist, and returns whether the log has ended and up to which position it is
-- stored.
INSERT INTO log_requests (sandbox_id) VALUES (@sandbox_id)
ON CONFLICT (sandbox_id) DO UPDATE SET sandbox_id = excluded.sandbox_id
RETURNING (kept_at IS NOT NULL)::boolean AS kept,
    coalesce((SELECT max(p.last) FROM log_parts p WHERE p.sandbox_id = log_requests.sandbox_id), 0)::bigint AS read;

-- name: InsertLogPart :exec
INSERT INTO log_parts (sandbox_id, first, last, content) VALUES (@sandbox_id, @first, @last, @content);

-- name: DropLogParts :exec
DELETE FROM log_parts WHERE sandbox_id = @sandbox_id AND last <= @before::bigint;

-- name: LogLooked :exec
UPDATE log_requests SET looked_at = now() WHERE sandbox_id = @sandbox_id;

-- name: LogKept :exec
UPDATE log_requests SET looked_at = now(), kept_at = now() WHERE sandbox_id = @sandbox_id;

-- name: OverdueSandboxes :one
-- OverdueSandboxes counts sandboxes whose attempt ended longer than age ago and whose deletion is not verified.
SELECT count(*)::bigint AS overdue, coalesce(extract(epoch FROM now() - min(ended_at)), 0)::float8 AS oldest
FROM sandboxes WHERE verified_at IS NULL AND machine AND state <> 'lost'
    AND ended_at < now() - @age::interval;

-- name: RaiseAlert :one
-- RaiseAlert reports whether the alert is new. An alert that was not repeated for an hour has ended, as in Alerts.
INSERT INTO alerts AS a (source, text) VALUES (@source, @text)
ON CONFLICT (source) DO UPDATE SET text = excluded.text, at = now(),
    since = CASE WHEN a.at > now() - interval '1 hour' THEN a.since ELSE now() END
RETURNING (since = now())::boolean AS raised;

-- name: ClearAlert :execrows
DELETE FROM alerts WHERE source = @source;

-- name: Alerts :many
-- Alerts excludes alerts that were not repeated for an hour: their host no longer runs.
SELECT text FROM alerts WHERE at > now() - interval '1 hour' ORDER BY since, source;

-- name: LogEnd :one
-- LogEnd returns the position up to which a log is stored.
SELECT coalesce(max(last), 0)::bigint FROM log_parts WHERE sandbox_id = @sandbox_id;
