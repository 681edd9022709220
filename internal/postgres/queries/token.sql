-- name: TokenOver :one
-- Whether the token of a sandbox has ended: an hour after the sandbox was verified gone.
SELECT omoi_token_ended(verified_at, machine, state, gone_at) AS over
FROM sandboxes WHERE id = sqlc.arg(id);
