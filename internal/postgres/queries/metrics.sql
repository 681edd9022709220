-- name: OpenTaskCounts :many
-- OpenTaskCounts excludes ended tasks, which would read the whole table.
SELECT status, count(*)::bigint AS tasks FROM tasks WHERE status NOT IN ('completed', 'failed', 'cancelled') GROUP BY status;

-- name: SandboxCounts :many
-- SandboxCounts counts sandboxes whose deletion is not verified, by provider. External sandboxes are found through
-- their tasks.
SELECT s.provider, count(*) FILTER (WHERE s.state IN ('creating', 'running', 'deleting'))::bigint AS alive,
    count(*) FILTER (WHERE s.state <> 'lost' AND s.ended_at IS NOT NULL)::bigint AS unverified
FROM sandboxes s WHERE s.verified_at IS NULL AND s.machine GROUP BY s.provider
UNION ALL
SELECT s.provider, count(*)::bigint, 0::bigint
FROM tasks t JOIN sandboxes s ON s.id = t.sandbox_id
WHERE t.status NOT IN ('completed', 'failed', 'cancelled') AND NOT s.machine AND s.state NOT IN ('gone', 'lost')
GROUP BY s.provider;

-- name: Lags :one
-- Lags returns ages in seconds; 0: nothing is due.
SELECT (SELECT count(*) FROM tasks WHERE queued_at IS NOT NULL)::bigint AS waiting,
    (SELECT count(*) FROM slots)::bigint AS slots,
    coalesce((SELECT extract(epoch FROM now() - min(due_at)) FROM task_outbox WHERE due_at <= now()), 0)::float8 AS relay_lag,
    coalesce((SELECT extract(epoch FROM now() - min(s.events_due_at)) FROM sandboxes s JOIN task_outbox r ON r.sandbox_id = s.id
        WHERE s.events_due_at <= now()), 0)::float8 AS event_lag;

-- name: CheckpointState :one
-- CheckpointState returns the age of the oldest of the newest checkpoints of attempts that run, in seconds, and the bytes of all packs.
SELECT coalesce((SELECT extract(epoch FROM now() - min(c.sealed_at)) FROM slots s
        CROSS JOIN LATERAL (SELECT a.number, a.ended_at FROM attempts a WHERE a.task_id = s.task_id ORDER BY a.number DESC LIMIT 1) a
        CROSS JOIN LATERAL (SELECT c.sealed_at FROM checkpoints c WHERE c.task_id = s.task_id AND c.attempt = a.number
            AND c.sealed_at IS NOT NULL ORDER BY c.number DESC LIMIT 1) c
        WHERE a.ended_at IS NULL), 0)::float8 AS oldest,
    (pg_total_relation_size('checkpoints') + pg_total_relation_size('checkpoint_chunks'))::bigint AS in_database,
    coalesce((SELECT sum(o.bytes) FROM pack_objects o), 0)::bigint AS in_objects;

-- name: LastSuccesses :many
SELECT part, at FROM component_heartbeats WHERE part IN ('reaper', 'guardian', 'conductor');

-- name: ReaperRan :exec
INSERT INTO component_heartbeats (part, at) VALUES ('reaper', now()) ON CONFLICT (part) DO UPDATE SET at = now();
