-- +goose Up
ALTER TABLE projects ADD COLUMN agents_may_message boolean NOT NULL DEFAULT false;

ALTER TABLE messages
    ADD COLUMN taker       text NOT NULL DEFAULT '',        -- who has won it, by its own name: it may ask again
    ADD COLUMN injected    boolean NOT NULL DEFAULT false,  -- an event said that the agent has it
    ADD COLUMN answered_at timestamptz;
-- What an agent has and has not answered yet: looked for at each agent.waiting.
CREATE INDEX messages_unanswered ON messages (sandbox_id) WHERE state = 'taken_up' AND injected;
CREATE INDEX messages_newest ON messages (sandbox_id, ordinal DESC);

-- Every end of an attempt, whoever writes it, is the end of what waits for its agent.
-- +goose StatementBegin
CREATE FUNCTION omoi_expire_messages() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE messages SET state = 'expired', settled_at = now(), lease_until = NULL,
        reason = 'The attempt ended before the agent took the message up.'
    WHERE sandbox_id = NEW.id AND state IN ('accepted', 'delivered');
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER sandbox_deaf AFTER UPDATE OF ended_at, state ON sandboxes FOR EACH ROW
    WHEN ((NEW.ended_at IS NOT NULL OR NEW.state IN ('gone', 'lost'))
        AND NOT (OLD.ended_at IS NOT NULL OR OLD.state IN ('gone', 'lost')))
    EXECUTE FUNCTION omoi_expire_messages();

-- +goose Down
DROP TRIGGER sandbox_deaf ON sandboxes;
DROP FUNCTION omoi_expire_messages;
DROP INDEX messages_newest, messages_unanswered;
ALTER TABLE messages DROP COLUMN taker, DROP COLUMN injected, DROP COLUMN answered_at;
ALTER TABLE projects DROP COLUMN agents_may_message;
