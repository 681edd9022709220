-- +goose Up
-- The agent runtimes whose program the local sandboxes of the host can run, by the word of its worker.
ALTER TABLE hosts ADD COLUMN agents text[] NOT NULL DEFAULT '{}';

-- +goose Down
ALTER TABLE hosts DROP COLUMN agents;
