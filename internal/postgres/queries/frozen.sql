-- name: KeepThawed :exec
-- KeepThawed ends a freeze record, and prepares one that begins after a silence of KeepThawed.
WITH ended AS (
    UPDATE outages SET until = now() WHERE part = 'frozen' AND until = 'infinity' AND since <= now()
), moved AS (
    UPDATE outages SET since = now() + @silence::interval WHERE part = 'frozen' AND until = 'infinity' AND since > now() RETURNING part
)
INSERT INTO outages (part, since, until) SELECT 'frozen', now() + @silence::interval, 'infinity' WHERE NOT EXISTS (SELECT FROM moved);

-- name: NoteFrozen :exec
-- NoteFrozen opens a freeze record, or begins a prepared one. It lasts until the sandboxes are thawed.
WITH begun AS (
    UPDATE outages SET since = now() WHERE part = 'frozen' AND until = 'infinity' AND since > now()
)
INSERT INTO outages (part, since, until) SELECT 'frozen', now(), 'infinity'
WHERE NOT EXISTS (SELECT FROM outages WHERE part = 'frozen' AND until = 'infinity');

-- name: NoteThawed :exec
-- NoteThawed ends a freeze record, and removes a prepared one.
WITH removed AS (
    DELETE FROM outages WHERE part = 'frozen' AND until = 'infinity' AND since > now()
)
UPDATE outages SET until = now() WHERE part = 'frozen' AND until = 'infinity' AND since <= now();

-- name: FrozenTime :one
-- FrozenTime returns the frozen seconds since the attempt of a sandbox was assigned; 0 for sandboxes without a host.
SELECT coalesce((SELECT omoi_frozen_seconds(coalesce(a.assigned_at, a.started_at), now()) FROM attempts a JOIN sandboxes s ON s.id = a.sandbox_id
    WHERE a.sandbox_id = @sandbox_id AND s.host_bound), 0)::float8;

-- name: FrozenSince :many
-- FrozenSince returns the periods within the lookback in which sandboxes were frozen.
SELECT since, least(until, now())::timestamptz AS until FROM outages
WHERE part = 'frozen' AND until > now() - @lookback::interval ORDER BY since;

-- name: SandboxesElsewhere :many
-- SandboxesElsewhere returns the existing sandboxes at remote providers; a price below 0 is unknown.
SELECT id, provider, coalesce(task_id::text, '')::text AS task_id, coalesce(price_per_second * 3600, -1)::float8 AS hour, coalesce(price_currency, '')::text AS currency
FROM sandboxes
WHERE state IN ('creating', 'running', 'deleting') AND gone_at IS NULL AND made_at IS NOT NULL AND machine AND NOT host_bound
ORDER BY created_at LIMIT 100;
