-- +goose Up
-- The event ID of the wire, as ingest.EventID builds it: SQL of the legacy system selects it.
ALTER TABLE sandbox_events ADD COLUMN id text GENERATED ALWAYS AS (sandbox_id || ':' || sequence::text) STORED;

-- +goose Down
ALTER TABLE sandbox_events DROP COLUMN id;
