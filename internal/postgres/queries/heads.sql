-- name: SandboxHead :many
SELECT head FROM sandboxes WHERE id = sqlc.arg(id);
