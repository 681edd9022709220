-- +goose Up
-- A transcript comes in pieces while its agent works: received and sum say how far it has come
-- and what it was, so that a piece is added to the text that it continues and to no other.
ALTER TABLE transcripts
    ADD COLUMN session_id text NOT NULL DEFAULT '',         -- under which its program goes on; empty: the run's key
    ADD COLUMN received   bigint NOT NULL DEFAULT 0,        -- bytes that came, those that were cut off too
    ADD COLUMN sum        bigint NOT NULL DEFAULT 0,        -- CRC-32C of them
    ADD COLUMN cut        bigint NOT NULL DEFAULT 0,        -- the oldest bytes, which are no longer kept
    ADD COLUMN created_at timestamptz NOT NULL DEFAULT now();
CREATE INDEX transcripts_of_sandbox ON transcripts (sandbox_id, updated_at);
CREATE INDEX transcripts_of_task ON transcripts (task_id, updated_at);

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION omoi_idle_bus() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO bus_events (organization_id, event_type, entity_type, entity_id, payload)
    SELECT s.organization_id, 'SANDBOX_TERMINATED_IDLE', 'sandbox', s.id,
        jsonb_build_object('reason', NEW.stop_reason, 'task_id', NEW.task_id,
            'transcript_saved', EXISTS (SELECT FROM transcripts t WHERE t.sandbox_id = s.id),
            'idle_duration_seconds', extract(epoch FROM NEW.ended_at - coalesce(s.last_work_at, s.started_at, NEW.started_at)))
    FROM sandboxes s WHERE s.id = NEW.sandbox_id;
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- +goose Down
DROP INDEX transcripts_of_sandbox;
DROP INDEX transcripts_of_task;
ALTER TABLE transcripts DROP COLUMN session_id, DROP COLUMN received, DROP COLUMN sum, DROP COLUMN cut, DROP COLUMN created_at;
