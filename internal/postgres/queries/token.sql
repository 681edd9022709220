-- name: TokenOver :one
-- Whether the token of a sandbox has ended: an hour after the sandbox was verified gone.
SELECT (coalesce(verified_at, CASE WHEN provider IN ('external', 'bare') AND state = 'gone' THEN gone_at END)
    < now() - interval '1 hour') IS TRUE AS over
FROM sandboxes WHERE id = sqlc.arg(id);
