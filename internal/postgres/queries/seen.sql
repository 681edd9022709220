-- name: SandboxSeen :execrows
-- A look found it there: it was made, whoever could not write that, and it is not gone after all.
-- What its provider's clock says lies between the intent and now.
UPDATE sandboxes SET provider_id = coalesce(provider_id, nullif(@provider_id::text, '')),
    made_at = coalesce(made_at, least(greatest(sqlc.narg('created_at')::timestamptz, created_at), now())),
    price_per_second = coalesce(price_per_second, (@prices::jsonb -> provider ->> 'per_second')::float8),
    price_currency = coalesce(price_currency, @prices::jsonb -> provider ->> 'currency'),
    gone_at = NULL, state = CASE WHEN state = 'gone' THEN 'deleting' ELSE state END
WHERE id = @id AND verified_at IS NULL;

-- name: SpoolRead :execrows
UPDATE sandboxes SET read_at = coalesce(read_at, now()) WHERE id = @id;

-- name: SpoolUnsent :execrows
UPDATE sandboxes SET unsent = true WHERE id = @id;
