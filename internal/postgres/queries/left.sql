-- name: UnverifiedSandboxes :many
-- Sandboxes of attempts that are over, whose cleanups will look again: seen to be gone, or over for less than wait.
SELECT s.id FROM attempts a JOIN sandboxes s ON s.id = a.sandbox_id
WHERE a.task_id = @task_id AND a.ended_at IS NOT NULL AND s.verified_at IS NULL AND s.state <> 'lost'
    AND s.provider NOT IN ('external', 'bare') AND (s.gone_at IS NOT NULL OR a.ended_at > now() - @wait::interval)
ORDER BY a.number;
