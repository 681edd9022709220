-- +goose Up
ALTER TABLE messages
    ADD COLUMN key_scope       text,   -- the box that the sender posted to: inbox:<sandbox> or outbox:<sandbox>
    ADD COLUMN idempotency_key text,   -- of the sender: the same one there answers this message
    ADD COLUMN body_hash       bytea;
CREATE UNIQUE INDEX messages_key ON messages (key_scope, idempotency_key) WHERE idempotency_key IS NOT NULL;

-- +goose Down
DROP INDEX messages_key;
ALTER TABLE messages DROP COLUMN key_scope, DROP COLUMN idempotency_key, DROP COLUMN body_hash;
