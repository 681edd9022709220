-- +goose Up

-- The agent had said something that nobody has got: it was in its spool when its sandbox ended,
-- and could not be sent.
ALTER TABLE sandboxes ADD COLUMN unsent boolean NOT NULL DEFAULT false;

-- +goose Down

ALTER TABLE sandboxes DROP COLUMN unsent;
