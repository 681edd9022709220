-- name: MakeInstallation :exec
INSERT INTO installation (id) VALUES (@id) ON CONFLICT DO NOTHING;

-- name: InstallationID :one
SELECT id FROM installation;

-- name: TokenKey :one
SELECT token_key_id, token_key_print FROM installation;

-- name: SetTokenKey :execrows
UPDATE installation SET token_key_id = @id, token_key_print = @fingerprint WHERE token_key_print = @was;

-- name: LiveHosts :many
SELECT id, providers FROM hosts
WHERE lost_at IS NULL AND seen_at > now() - @fresh::interval ORDER BY id;

-- name: SharedProviders :many
-- SharedProviders returns providers without a host that may still have sandboxes.
SELECT DISTINCT provider FROM sandboxes
WHERE verified_at IS NULL AND state <> 'lost' AND machine AND NOT host_bound
ORDER BY provider;

-- name: LedgerOrphans :many
-- LedgerOrphans returns sandboxes whose deletion is not verified and whose attempt ended longer than grace ago. Without
-- an attempt, the age of the row counts.
SELECT s.id, coalesce(s.task_id::text, '')::text AS task_id, coalesce(s.attempt, 0)::integer AS attempt
FROM sandboxes s LEFT JOIN attempts a ON a.sandbox_id = s.id OR a.tests_sandbox = s.id
WHERE s.provider <> 'bare' AND s.state <> 'lost'
    AND CASE WHEN s.machine THEN s.verified_at IS NULL ELSE s.state <> 'gone' END
    AND coalesce(a.ended_at, CASE WHEN a.sandbox_id IS NULL THEN s.created_at END) < now() - @grace::interval
ORDER BY s.created_at LIMIT 1000;

-- name: UnownedSandboxes :many
-- UnownedSandboxes returns the listed sandboxes without a running attempt for the time grace. For a sandbox that is not
-- in the ledger, the age from its provider counts.
SELECT l.id::text AS id, coalesce(s.task_id::text, '')::text AS task_id, coalesce(s.attempt, 0)::integer AS attempt,
    (s.id IS NOT NULL)::boolean AS known
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@created::timestamptz[]) AS created_at) l
LEFT JOIN sandboxes s ON s.id = l.id
LEFT JOIN attempts a ON a.sandbox_id = l.id OR a.tests_sandbox = l.id
WHERE CASE WHEN a.sandbox_id IS NOT NULL THEN a.ended_at ELSE coalesce(s.created_at, l.created_at) END
    < now() - @grace::interval
ORDER BY l.id;

-- name: AdoptSandbox :exec
-- AdoptSandbox inserts a sandbox of this installation that the ledger does not contain, or contains as unmanaged: the
-- database was lost or restored from a backup.
INSERT INTO sandboxes (id, organization_id, task_id, attempt, provider, host_bound, machine, provider_id, host_id, labels, state, created_at, made_at, ended_at)
SELECT @id, t.organization_id, t.id, sqlc.narg('attempt'), @provider, @host_bound, @machine, @provider_id, sqlc.narg('host_id'), @labels, 'running', @created_at, @created_at, now()
FROM (SELECT 1) AS one LEFT JOIN tasks t ON t.id::text = @task_id::text
ON CONFLICT (id) DO UPDATE SET organization_id = excluded.organization_id, task_id = excluded.task_id, attempt = excluded.attempt,
    provider = excluded.provider, host_bound = excluded.host_bound, machine = excluded.machine, provider_id = excluded.provider_id, host_id = excluded.host_id, labels = excluded.labels,
    state = excluded.state, created_at = excluded.created_at, made_at = excluded.made_at, ended_at = excluded.ended_at, gone_at = NULL
WHERE sandboxes.provider = 'bare';

-- name: IsIdle :one
SELECT (NOT EXISTS (SELECT FROM tasks WHERE status NOT IN ('completed', 'failed', 'cancelled'))
    AND NOT EXISTS (SELECT FROM sandboxes WHERE verified_at IS NULL AND machine AND state <> 'lost')
    AND NOT EXISTS (SELECT FROM sandboxes WHERE NOT machine AND provider <> 'bare' AND state NOT IN ('gone', 'lost'))
    -- a create request without any answer may take effect after the second check; on hosts, fences prevent that
    AND NOT EXISTS (SELECT FROM sandboxes WHERE verified_at > now() - interval '1 hour' AND machine AND NOT host_bound))::boolean;

-- name: MakePartitions :exec
SELECT omoi_partitions();

-- name: SetReaperRests :exec
UPDATE installation SET reaper_rests = @rests::boolean WHERE reaper_rests <> @rests;

-- name: EndReaperRest :execrows
UPDATE installation SET reaper_rests = false WHERE reaper_rests;
