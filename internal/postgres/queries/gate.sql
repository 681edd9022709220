-- name: Admit :exec
-- The gate after something that concerns one project: a task came, goes, or does not wait any more.
SELECT omoi_admit(@organization_id::uuid, @project_id::uuid);

-- name: MetWall :exec
-- Puts the credential of an attempt to sleep until reset; null: as long as pause.
SELECT omoi_start_cooldown(@task_id::uuid, @attempt::integer, sqlc.narg('reset')::timestamptz, @pause::interval, @apart::interval);

-- name: NewestFailure :one
-- What the agent in a sandbox said of its failure last.
SELECT e.event_data FROM sandboxes s JOIN sandbox_events e ON e.partition_month = s.partition_month AND e.sandbox_id = s.id
WHERE s.id = @sandbox_id AND e.event_type = ANY (@failures::text[])
ORDER BY e.sequence DESC LIMIT 1;

-- name: SleepersDue :many
-- Organizations with a credential at which the gate has to look.
SELECT DISTINCT organization_id::text FROM credential_cooldowns WHERE next_at <= clock_timestamp();
