-- +goose Up

-- When the provider answered that the sandbox is there, and what it costs since: the price
-- that was configured then, so that a later one changes no receipt.
ALTER TABLE sandboxes
    ADD COLUMN made_at          timestamptz,
    ADD COLUMN price_per_second double precision,
    ADD COLUMN price_currency   text;

-- A sandbox's own log: what its agent printed. Read while somebody looks, and at the end.
CREATE TABLE log_looks (
    sandbox_id   text PRIMARY KEY REFERENCES sandboxes ON DELETE CASCADE,
    wanted_until timestamptz,                   -- somebody looks until then
    looked_at    timestamptz,                   -- when a worker had read up to its end
    kept_at      timestamptz                    -- it will not grow any more: this is its end
);
CREATE INDEX log_looks_wanted ON log_looks (wanted_until) WHERE kept_at IS NULL;
CREATE TABLE log_parts (
    sandbox_id text NOT NULL REFERENCES log_looks ON DELETE CASCADE,
    first      bigint NOT NULL,                 -- bytes of the log before this part
    last       bigint NOT NULL,                 -- bytes of the log up to its end
    content    bytea NOT NULL,                  -- without secrets, so of another length
    PRIMARY KEY (sandbox_id, first)
);

-- What people did in sandboxes by hand.
CREATE TABLE visits (
    id              uuid PRIMARY KEY,
    organization_id uuid REFERENCES organizations ON DELETE CASCADE,
    sandbox_id      text NOT NULL,              -- stays when the sandbox's row is gone
    visitor         text NOT NULL,
    kind            text NOT NULL CHECK (kind IN ('shell', 'exec', 'copy_in', 'copy_out')),
    what            text NOT NULL,              -- the command or the path, without secrets
    began_at        timestamptz NOT NULL DEFAULT now(),
    ended_at        timestamptz,                -- null: under way, or nobody could tell
    outcome         text NOT NULL DEFAULT ''
);
CREATE INDEX visits_sandbox ON visits (sandbox_id, began_at);

-- What the reaper found and a person has to look at; it is said again at each of its rounds.
CREATE TABLE alarms (
    source text PRIMARY KEY,                    -- unverified, or a provider and its host
    text   text NOT NULL,
    since  timestamptz NOT NULL DEFAULT now(),
    at     timestamptz NOT NULL DEFAULT now()
);

-- +goose Down

DROP TABLE alarms, visits, log_parts, log_looks;
ALTER TABLE sandboxes DROP COLUMN made_at, DROP COLUMN price_per_second, DROP COLUMN price_currency;
