-- name: MakeOrganization :exec
INSERT INTO organizations (id, name) VALUES (@id, @name) ON CONFLICT (name) DO NOTHING;

-- name: OrganizationByName :one
SELECT id FROM organizations WHERE name = @name;

-- name: InsertKey :one
INSERT INTO api_keys (id, organization_id, user_id, name, prefix, hash, scopes, expires_at)
VALUES (@id, @organization_id, @user_id, @name, @prefix, @hash, @scopes, sqlc.narg('expires_at'))
RETURNING *;

-- name: KeyByHash :one
-- KeyByHash returns valid keys only, by the time of the database.
SELECT sqlc.embed(k), u.name AS user_name FROM api_keys k JOIN users u ON u.id = k.user_id
WHERE k.hash = @hash AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now());

-- name: ValidKey :one
-- ValidKey is KeyByHash by ID.
SELECT sqlc.embed(k), u.name AS user_name FROM api_keys k JOIN users u ON u.id = k.user_id
WHERE k.id = @id AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now());

-- name: TouchKey :exec
-- TouchKey writes at most once a minute per key.
UPDATE api_keys SET last_used_at = now()
WHERE id = @id AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute');

-- name: ListKeys :many
SELECT sqlc.embed(k), u.name AS user_name FROM api_keys k JOIN users u ON u.id = k.user_id
WHERE k.organization_id = @organization_id ORDER BY k.created_at DESC, k.id DESC;

-- name: RevokeKey :execrows
UPDATE api_keys SET revoked_at = coalesce(revoked_at, now())
WHERE organization_id = @organization_id AND id = @id;

-- name: CountKeys :one
SELECT count(*) FROM api_keys;
