-- name: HostSeen :one
-- HostSeen reports whether the host had been declared lost.
WITH former AS (SELECT lost_at FROM hosts WHERE id = @id)
INSERT INTO hosts (id, name, providers, agents, capacity, version) VALUES (@id, @name, @providers, @agents, @capacity, @version)
ON CONFLICT (id) DO UPDATE SET name = excluded.name, providers = excluded.providers, agents = excluded.agents, capacity = excluded.capacity, version = excluded.version,
    seen_at = now(), lost_at = NULL
RETURNING EXISTS (SELECT FROM former WHERE former.lost_at IS NOT NULL) AS back;

-- name: Hosts :many
-- Hosts returns all hosts or one, most recent heartbeat first.
SELECT sqlc.embed(h), (h.lost_at IS NULL AND h.seen_at > now() - @fresh::interval)::boolean AS beats,
    n.live, n.unverified, n.lost
FROM hosts h CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE s.ended_at IS NULL AND s.state <> 'lost') AS live,
        count(*) FILTER (WHERE s.ended_at IS NOT NULL AND s.state <> 'lost') AS unverified,
        count(*) FILTER (WHERE s.state = 'lost') AS lost
    FROM sandboxes s WHERE s.host_id = h.id AND s.verified_at IS NULL AND s.machine
) n
WHERE @id::text = '' OR h.id = @id
ORDER BY h.seen_at DESC, h.id;

-- name: HostLost :execrows
-- HostLost changes no row of a host that still sends heartbeats.
UPDATE hosts SET lost_at = coalesce(lost_at, now())
WHERE id = @id AND (lost_at IS NOT NULL OR seen_at <= now() - @fresh::interval);

-- name: LoseSandboxes :exec
-- LoseSandboxes marks the unsaved work of sandboxes as lost since their last event.
UPDATE sandboxes SET state = 'lost',
    salvage = CASE WHEN salvage IS NULL AND (started_at IS NOT NULL OR last_sequence > 0) THEN jsonb_build_object(
        'kind', 'lost', 'files', 0, 'bytes', 0, 'lost_since', coalesce(last_event_at, started_at, created_at)) ELSE salvage END
WHERE host_id = @host_id AND verified_at IS NULL AND state <> 'lost';

-- name: LostAttempts :many
-- LostAttempts returns the lost sandboxes of a host whose attempts are still open.
SELECT s.id FROM sandboxes s JOIN attempts a ON a.sandbox_id = s.id
WHERE s.host_id = @host_id AND s.state = 'lost' AND a.ended_at IS NULL ORDER BY s.id;

-- name: FoundSandboxes :exec
-- FoundSandboxes assigns listed sandboxes to the host that lists them, if they are lost or if their recorded host sends
-- no heartbeats. Work that counted as lost may still be saved. Sandboxes of open attempts stay unchanged, because their
-- task owns them.
UPDATE sandboxes s SET host_id = @host_id, state = CASE WHEN s.state = 'lost' THEN 'running' ELSE s.state END,
    salvage = CASE WHEN s.salvage ->> 'kind' = 'lost' THEN NULL ELSE s.salvage END
WHERE s.id = ANY (@ids::text[]) AND s.host_id IS NOT NULL AND s.ended_at IS NOT NULL AND s.verified_at IS NULL
    AND (s.state = 'lost' OR s.host_id <> @host_id AND NOT EXISTS (
        SELECT FROM hosts h WHERE h.id = s.host_id AND h.lost_at IS NULL AND h.seen_at > now() - @fresh::interval));

-- name: UnverifiedByHost :many
-- UnverifiedByHost counts the sandboxes of Unverified by host, most first.
SELECT s.host_id::text AS id, coalesce(h.name, '')::text AS name, count(*) AS unverified,
    coalesce(h.lost_at IS NULL AND h.seen_at > now() - @fresh::interval, false)::boolean AS beats
FROM sandboxes s LEFT JOIN hosts h ON h.id = s.host_id
WHERE s.provider = @provider AND s.verified_at IS NULL AND s.machine AND s.state <> 'lost'
    AND s.ended_at IS NOT NULL AND s.host_id IS NOT NULL AND (s.gone_at IS NULL OR s.made_at IS NULL)
GROUP BY s.host_id, h.name, h.lost_at, h.seen_at ORDER BY count(*) DESC, s.host_id LIMIT 3;

-- name: CloseBare :exec
-- CloseBare ends unmanaged sandboxes after the silence quiet, and after 10 minutes if no event was stored.
UPDATE sandboxes SET state = 'gone', gone_at = coalesce(gone_at, now()), ended_at = coalesce(ended_at, now())
WHERE provider = 'bare' AND state = 'running'
    AND (last_event_at < now() - @quiet::interval OR last_event_at IS NULL AND created_at < now() - interval '10 minutes');

-- name: MakeBareSandboxes :exec
INSERT INTO sandboxes (id, provider, machine, state)
SELECT i.id, 'bare', false, 'running' FROM unnest(@ids::text[]) AS i(id) ORDER BY i.id ON CONFLICT (id) DO NOTHING;
