-- +goose Up
-- The version of the worker that reported last.
ALTER TABLE hosts ADD COLUMN version text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE hosts DROP COLUMN version;
