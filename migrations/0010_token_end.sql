-- +goose Up

-- Whether a sandbox's token has ended: an hour after the sandbox was verified gone. What has
-- nothing to verify is gone when its row says so.
-- +goose StatementBegin
CREATE FUNCTION omoi_token_ended(verified_at timestamptz, provider text, state text, gone_at timestamptz)
RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT (coalesce($1, CASE WHEN $2 IN ('external', 'bare') AND $3 = 'gone' THEN $4 END) < now() - interval '1 hour') IS TRUE
$$;
-- +goose StatementEnd

-- +goose Down

DROP FUNCTION omoi_token_ended;
