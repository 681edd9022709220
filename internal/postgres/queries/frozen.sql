-- name: NoteFrozen :exec
-- Until the sandboxes are thawed.
INSERT INTO outages (part, since, until) SELECT 'frozen', now(), 'infinity'
WHERE NOT EXISTS (SELECT FROM outages WHERE part = 'frozen' AND until = 'infinity');

-- name: NoteThawed :exec
UPDATE outages SET until = now() WHERE part = 'frozen' AND until = 'infinity';

-- name: FrozenTime :one
-- In seconds, since the attempt of a sandbox was assigned. Others than those of a machine are never frozen.
SELECT coalesce((SELECT omoi_frozen_seconds(coalesce(a.assigned_at, a.started_at), now()) FROM attempts a JOIN sandboxes s ON s.id = a.sandbox_id
    WHERE a.sandbox_id = @sandbox_id AND s.host_bound), 0)::float8;

-- name: FrozenSince :many
-- The times in which sandboxes were frozen, as far as they lie in the lookback.
SELECT since, least(until, now())::timestamptz AS until FROM outages
WHERE part = 'frozen' AND until > now() - @lookback::interval ORDER BY since;

-- name: SandboxesElsewhere :many
-- Those that exist at a provider elsewhere, which a stop of this machine does not end; below 0: no price is known.
SELECT id, provider, coalesce(task_id::text, '')::text AS task_id, coalesce(price_per_second * 3600, -1)::float8 AS hour, coalesce(price_currency, '')::text AS currency
FROM sandboxes
WHERE state IN ('creating', 'running', 'deleting') AND gone_at IS NULL AND made_at IS NOT NULL AND machine AND NOT host_bound
ORDER BY created_at LIMIT 100;
