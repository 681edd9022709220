-- +goose Up

-- How what a sandbox's agent says gets out, push or pull; empty: nobody began to make it. Of one
-- that is pulled from: when its spool had been read to its end.
ALTER TABLE sandboxes ADD COLUMN transport text NOT NULL DEFAULT '', ADD COLUMN read_at timestamptz;

-- How long a sandbox has lived: since its provider made it, until it was seen to be gone. One of
-- a provider that nobody ever saw did not live.
-- +goose StatementBegin
CREATE FUNCTION omoi_seconds_alive(provider text, created_at timestamptz, made_at timestamptz, started_at timestamptz, gone_at timestamptz)
RETURNS double precision LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN made_at IS NULL AND started_at IS NULL AND provider NOT IN ('external', 'bare') THEN 0
        ELSE extract(epoch FROM coalesce(gone_at, now()) - coalesce(made_at, started_at, created_at)) END::double precision
$$;
-- +goose StatementEnd

-- +goose Down

DROP FUNCTION omoi_seconds_alive;
ALTER TABLE sandboxes DROP COLUMN transport, DROP COLUMN read_at;
