-- name: SandboxHead :many
SELECT last_sequence FROM sandboxes WHERE id = sqlc.arg(id);
