-- name: LedgerSandbox :one
SELECT sqlc.embed(s), omoi_lifetime_seconds(s.machine, s.host_bound, s.created_at, s.made_at, s.started_at, s.gone_at)::float8 AS seconds_alive
FROM sandboxes s WHERE s.id = @id;

-- name: SandboxCreating :execrows
UPDATE sandboxes SET state = 'creating', transport = @transport WHERE id = @id AND state IN ('intended', 'creating');

-- name: SandboxPlaced :execrows
UPDATE sandboxes SET provider_id = coalesce(provider_id, nullif(@provider_id::text, ''))
WHERE id = @id AND state IN ('intended', 'creating', 'running');

-- name: SandboxRunning :execrows
-- SandboxRunning stores the creation time of the provider, bounded by the intent and now; without one, the time of the
-- first response. The creation time also fixes the price.
UPDATE sandboxes SET state = 'running', provider_id = nullif(@provider_id::text, ''), isolation = @isolation,
    adopted_at = CASE WHEN @adopted::boolean THEN coalesce(adopted_at, now()) ELSE adopted_at END,
    made_at = coalesce(made_at, least(greatest(coalesce(sqlc.narg('created_at')::timestamptz, now()), created_at), now())),
    price_per_second = coalesce(price_per_second, (@prices::jsonb -> provider ->> 'per_second')::float8),
    price_currency = coalesce(price_currency, @prices::jsonb -> provider ->> 'currency')
WHERE id = @id AND state IN ('intended', 'creating', 'running');

-- name: AgentStarted :execrows
UPDATE sandboxes SET started_at = coalesce(started_at, now()) WHERE id = @id;

-- name: SandboxDeleting :execrows
-- SandboxDeleting ends the row, as of a sandbox of repeated tests whose attempt runs on.
UPDATE sandboxes SET deleted_at = coalesce(deleted_at, now()), ended_at = coalesce(ended_at, now()),
    state = CASE WHEN state IN ('gone', 'lost') THEN state ELSE 'deleting' END
WHERE id = @id;

-- name: SandboxGone :execrows
UPDATE sandboxes SET gone_at = coalesce(gone_at, now()), ended_at = coalesce(ended_at, now()),
    state = CASE WHEN state = 'lost' THEN state ELSE 'gone' END
WHERE id = @id;

-- name: SandboxVerified :execrows
-- SandboxVerified does not verify sandboxes of providers without machines.
UPDATE sandboxes SET gone_at = coalesce(gone_at, now()), ended_at = coalesce(ended_at, now()), state = 'gone',
    verified_at = CASE WHEN NOT machine THEN verified_at ELSE coalesce(verified_at, now()) END
WHERE id = @id;

-- name: SandboxLost :execrows
UPDATE sandboxes SET state = CASE WHEN state = 'gone' THEN state ELSE 'lost' END, ended_at = coalesce(ended_at, now())
WHERE id = @id;

-- name: SalvageLost :execrows
-- SalvageLost records the work of a sandbox as lost since its last event.
UPDATE sandboxes SET salvage = coalesce(salvage, jsonb_build_object('kind', 'lost', 'files', 0, 'bytes', 0,
    'lost_since', coalesce(last_event_at, started_at, created_at)))
WHERE id = @id;

-- name: SaveSalvage :execrows
UPDATE sandboxes SET salvage = @salvage WHERE id = @id;

-- name: Pulse :one
-- Pulse returns ages in seconds by the time of the database; -1: never.
SELECT s.partition_month, s.last_sequence, coalesce(extract(epoch FROM now() - a.assigned_at), -1)::float8 AS assigned,
    coalesce(extract(epoch FROM now() - s.last_event_at), -1)::float8 AS beat,
    coalesce(extract(epoch FROM now() - s.last_work_at), -1)::float8 AS work,
    EXISTS (SELECT FROM commands c WHERE c.task_id = s.task_id AND c.kind = 'verdict' AND c.state = 'accepted'
        AND c.args ->> 'sandbox_id' = s.id) AS verdict_due
FROM sandboxes s LEFT JOIN attempts a ON a.sandbox_id = s.id
WHERE s.id = @id;

-- name: NewestEvents :many
-- NewestEvents returns the newest event of each type.
SELECT e.event_type, e.sequence, e.event_data, extract(epoch FROM now() - e.created_at)::float8 AS age
FROM unnest(@types::text[]) AS q(event_type)
JOIN LATERAL (
    SELECT * FROM sandbox_events e
    WHERE e.partition_month = @partition_month AND e.sandbox_id = @sandbox_id AND e.event_type = q.event_type
    ORDER BY e.sequence DESC LIMIT 1
) e ON true
ORDER BY e.sequence DESC;

-- name: NewestSign :many
-- NewestSign returns the newest event other than those that come without an act of the agent.
SELECT event_type, sequence FROM sandbox_events
WHERE partition_month = @partition_month AND sandbox_id = @sandbox_id AND NOT event_type = ANY (@heartbeats::text[])
ORDER BY sequence DESC LIMIT 1;

-- name: OutageSeconds :one
-- OutageSeconds returns how long the component was down within the lookback: recorded outages, and a current one. A
-- component without any heartbeat counts as down.
SELECT (CASE WHEN p.part IS NULL THEN extract(epoch FROM @lookback::interval) ELSE
    coalesce((SELECT sum(extract(epoch FROM least(o.until, now()) - greatest(o.since, now() - @lookback::interval)))
        FROM outages o WHERE o.part = @part AND o.until > now() - @lookback::interval), 0)
    + CASE WHEN p.at < now() - @stale::interval
        THEN extract(epoch FROM now() - greatest(p.at, now() - @lookback::interval)) ELSE 0 END
    END)::float8
FROM (SELECT true) AS once LEFT JOIN component_heartbeats p ON p.part = @part;

-- name: Beat :exec
-- Beat records the silence before this heartbeat as an outage, if it was too long.
WITH former AS (
    SELECT part, at FROM component_heartbeats WHERE part = @part FOR UPDATE
), silence AS (
    INSERT INTO outages (part, since, until)
    SELECT part, at, clock_timestamp() FROM former WHERE at < clock_timestamp() - @stale::interval
    ON CONFLICT (part, since) DO UPDATE SET until = greatest(outages.until, excluded.until)
    RETURNING part
)
INSERT INTO component_heartbeats (part, at) SELECT @part, clock_timestamp() FROM (SELECT count(*) FROM silence) AS noted
ON CONFLICT (part) DO UPDATE SET at = greatest(component_heartbeats.at, excluded.at);

-- name: InsertText :exec
INSERT INTO stored_texts (id, task_id, kind, content) VALUES (@id, sqlc.narg('task_id'), @kind, @content)
ON CONFLICT (id) DO NOTHING;

-- name: TextByID :one
SELECT content FROM stored_texts WHERE id = @id;

-- name: MarkReappeared :exec
-- MarkReappeared returns a verified sandbox to the state deleting, with adopted_at after its deletion.
UPDATE sandboxes SET adopted_at = now(), gone_at = NULL, verified_at = NULL, state = 'deleting', deleted_at = coalesce(deleted_at, created_at),
    provider_id = coalesce(nullif(@provider_id::text, ''), provider_id),
    made_at = coalesce(made_at, least(greatest(sqlc.narg('created_at')::timestamptz, created_at), now())),
    price_per_second = coalesce(price_per_second, (@prices::jsonb -> provider ->> 'per_second')::float8),
    price_currency = coalesce(price_currency, @prices::jsonb -> provider ->> 'currency')
WHERE id = @id AND verified_at IS NOT NULL;

-- name: CountReappeared :one
-- CountReappeared counts the sandboxes that exist again after verification and are not verified since, with the ID of
-- one.
SELECT count(*)::bigint AS again, coalesce(min(id), '')::text AS id FROM sandboxes
WHERE verified_at IS NULL AND machine AND state <> 'lost' AND adopted_at > deleted_at;

-- name: SandboxSeen :exec
-- SandboxSeen records that a sandbox exists and clears its absence. The creation time of the provider is bounded by the
-- intent and now.
UPDATE sandboxes SET provider_id = coalesce(provider_id, nullif(@provider_id::text, '')),
    made_at = coalesce(made_at, least(greatest(sqlc.narg('created_at')::timestamptz, created_at), now())),
    price_per_second = coalesce(price_per_second, (@prices::jsonb -> provider ->> 'per_second')::float8),
    price_currency = coalesce(price_currency, @prices::jsonb -> provider ->> 'currency'),
    gone_at = NULL, state = CASE WHEN state = 'gone' THEN 'deleting' ELSE state END
WHERE id = @id AND verified_at IS NULL;

-- name: SpoolRead :execrows
UPDATE sandboxes SET read_at = coalesce(read_at, now()) WHERE id = @id;

-- name: SpoolUnsent :execrows
UPDATE sandboxes SET unsent = true WHERE id = @id;

-- name: SandboxUnmade :execrows
-- SandboxUnmade ends a row whose sandbox was never requested. The new state rejects a later create.
UPDATE sandboxes SET state = 'gone', gone_at = now(), ended_at = coalesce(ended_at, now()), verified_at = now()
WHERE id = @id AND state = 'intended';

-- name: SandboxHead :many
SELECT last_sequence FROM sandboxes WHERE id = sqlc.arg(id);

-- name: TokenOver :one
-- TokenOver reports whether the token of a sandbox has ended: one hour after its deletion was verified.
SELECT omoi_token_ended(verified_at, machine, state, gone_at) AS over
FROM sandboxes WHERE id = sqlc.arg(id);

-- name: SandboxesAtWork :many
-- SandboxesAtWork returns the sandboxes within reach of a host whose agents have started and are not known to have
-- ended. Sandboxes of the pull transport are excluded, because the pull relay detects their ends.
SELECT s.id, t.id::text AS task_id, s.labels, (now() - greatest(s.started_at, s.last_event_at))::interval AS silent
FROM sandboxes s JOIN attempts a ON a.sandbox_id = s.id JOIN tasks t ON t.id = a.task_id
WHERE s.state = 'running' AND s.verified_at IS NULL AND s.machine
    AND s.started_at IS NOT NULL AND s.transport <> 'pull' AND s.provider = @provider
    AND (s.host_id = @host_id::text OR s.host_id IS NULL)
    AND a.assigned_at IS NOT NULL AND a.ended_at IS NULL AND t.status IN ('assigned', 'running', 'validating')
ORDER BY s.id;
