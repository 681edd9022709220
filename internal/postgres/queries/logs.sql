-- name: LogEnd :one
-- Up to where a log is stored.
SELECT coalesce(max(last), 0)::bigint FROM log_parts WHERE sandbox_id = @sandbox_id;
