-- +goose Up

-- The id by which the sender of a single event has it stored once stands in the event's own
-- row: one row and one index more for those that have one, instead of a row in another table
-- with a reference to its sandbox.
ALTER TABLE sandbox_events ADD COLUMN key text;
CREATE UNIQUE INDEX sandbox_events_key ON sandbox_events (birth, sandbox_id, key) WHERE key IS NOT NULL;
UPDATE sandbox_events e SET key = k.key FROM event_keys k, sandboxes s
    WHERE s.id = k.sandbox_id AND e.birth = s.birth AND e.sandbox_id = k.sandbox_id AND e.sequence = k.sequence;
DROP TABLE event_keys;

-- +goose Down

CREATE TABLE event_keys (
    sandbox_id  text NOT NULL REFERENCES sandboxes ON DELETE CASCADE,
    key         text NOT NULL,
    sequence    bigint NOT NULL,
    PRIMARY KEY (sandbox_id, key)
);
INSERT INTO event_keys (sandbox_id, key, sequence)
    SELECT e.sandbox_id, e.key, e.sequence FROM sandbox_events e JOIN sandboxes s ON s.id = e.sandbox_id WHERE e.key IS NOT NULL;
ALTER TABLE sandbox_events DROP COLUMN key;
