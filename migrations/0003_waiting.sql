-- +goose Up
-- What a task that is neither queued nor parked waits for, as of the last look; empty: nothing.
ALTER TABLE tasks ADD COLUMN waiting text NOT NULL DEFAULT '', ADD COLUMN waiting_at timestamptz;

-- +goose Down
ALTER TABLE tasks DROP COLUMN waiting, DROP COLUMN waiting_at;
