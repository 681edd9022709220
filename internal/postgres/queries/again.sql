-- name: SandboxAgain :execrows
-- One that was verified gone is there again: its row takes it up, at a time after its deletion, and nobody has seen it to be gone since.
UPDATE sandboxes SET adopted_at = now(), gone_at = NULL, verified_at = NULL, state = 'deleting', deleted_at = coalesce(deleted_at, created_at),
    provider_id = coalesce(nullif(@provider_id::text, ''), provider_id),
    made_at = coalesce(made_at, least(greatest(sqlc.narg('created_at')::timestamptz, created_at), now())),
    price_per_second = coalesce(price_per_second, (@prices::jsonb -> provider ->> 'per_second')::float8),
    price_currency = coalesce(price_currency, @prices::jsonb -> provider ->> 'currency')
WHERE id = @id AND verified_at IS NOT NULL;

-- name: SandboxesAgain :one
-- Those that were there again and are not verified gone since; the first one stands for all.
SELECT count(*)::bigint AS again, coalesce(min(id), '')::text AS id FROM sandboxes
WHERE verified_at IS NULL AND machine AND state <> 'lost' AND adopted_at > deleted_at;
