-- +goose Up
-- Who holds the newest lease: a poll of omoi-agent or of a client that waits; empty for a legacy worker.
ALTER TABLE messages ADD COLUMN leased_by text NOT NULL DEFAULT '';

-- A message that was delivered to a legacy worker and settled as never acknowledged stays delivered.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION omoi_expire_messages() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE messages SET state = 'expired', settled_at = now(), lease_until = NULL,
        reason = 'The attempt ended before the agent took the message up.'
    WHERE sandbox_id = NEW.id AND state IN ('accepted', 'delivered') AND settled_at IS NULL;
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION omoi_expire_messages() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE messages SET state = 'expired', settled_at = now(), lease_until = NULL,
        reason = 'The attempt ended before the agent took the message up.'
    WHERE sandbox_id = NEW.id AND state IN ('accepted', 'delivered');
    RETURN NULL;
END $$;
-- +goose StatementEnd
ALTER TABLE messages DROP COLUMN leased_by;
