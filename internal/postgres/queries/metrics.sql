-- name: OpenTaskCounts :many
-- Ended ones are not counted: that would read the whole table.
SELECT status, count(*)::bigint AS tasks FROM tasks WHERE status NOT IN ('completed', 'failed', 'cancelled') GROUP BY status;

-- name: SandboxCounts :many
-- By provider, of what is not verified gone. External ones are found through their tasks.
SELECT s.provider, count(*) FILTER (WHERE s.state IN ('creating', 'running', 'deleting'))::bigint AS alive,
    count(*) FILTER (WHERE s.state <> 'lost' AND s.ended_at IS NOT NULL)::bigint AS unverified
FROM sandboxes s WHERE s.verified_at IS NULL AND s.machine GROUP BY s.provider
UNION ALL
SELECT s.provider, count(*)::bigint, 0::bigint
FROM tasks t JOIN sandboxes s ON s.id = t.sandbox_id
WHERE t.status NOT IN ('completed', 'failed', 'cancelled') AND NOT s.machine AND s.state NOT IN ('gone', 'lost')
GROUP BY s.provider;

-- name: Lags :one
-- Ages in seconds; 0 where nothing is due. Those of reaper, guardian and conductor are below zero before their first run.
SELECT (SELECT count(*) FROM tasks WHERE queued_at IS NOT NULL)::bigint AS waiting,
    (SELECT count(*) FROM slots)::bigint AS slots,
    coalesce((SELECT extract(epoch FROM now() - min(due_at)) FROM task_outbox WHERE due_at <= now()), 0)::float8 AS relay_lag,
    coalesce((SELECT extract(epoch FROM now() - min(s.events_due_at)) FROM sandboxes s JOIN task_outbox r ON r.sandbox_id = s.id
        WHERE s.events_due_at <= now()), 0)::float8 AS event_lag;

-- name: LastSuccesses :many
SELECT part, at FROM component_heartbeats WHERE part IN ('reaper', 'guardian', 'conductor');

-- name: ReaperRan :exec
INSERT INTO component_heartbeats (part, at) VALUES ('reaper', now()) ON CONFLICT (part) DO UPDATE SET at = now();
