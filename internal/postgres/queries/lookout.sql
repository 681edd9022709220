-- name: SandboxesAtWork :many
-- Those in reach of a host whose agents were started and are not known to have ended. Of those that are
-- tailed the tail tells.
SELECT s.id, t.id::text AS task_id, s.labels, (now() - greatest(s.started_at, s.last_event_at))::interval AS silent
FROM sandboxes s JOIN attempts a ON a.sandbox_id = s.id JOIN tasks t ON t.id = a.task_id
WHERE s.state = 'running' AND s.verified_at IS NULL AND s.machine
    AND s.started_at IS NOT NULL AND s.transport <> 'pull' AND s.provider = @provider
    AND (s.host_id = @host_id::text OR s.host_id IS NULL)
    AND a.assigned_at IS NOT NULL AND a.ended_at IS NULL AND t.status IN ('assigned', 'running', 'validating')
ORDER BY s.id;
