-- +goose Up

-- How far the places of a sandbox are made. Readers of an earlier build move upto alone, to any number: what such a row
-- says has no places behind it. Where both are equal, the row is of a reader that makes places.
ALTER TABLE event_counts ADD COLUMN placed bigint NOT NULL DEFAULT 0;
-- What stands may lack places, or be made from the middle of a block on; readers make it again.
DELETE FROM event_places;
DELETE FROM event_counts;

-- The reaper looks each minute for attempts that nobody ends, and for sandboxes that were seen to be gone of late.
CREATE INDEX attempts_open ON attempts (task_id) WHERE ended_at IS NULL;
CREATE INDEX sandboxes_verified ON sandboxes (verified_at) WHERE provider NOT IN ('local', 'docker', 'external', 'bare');

-- Where a ticket stands, by its tasks. Where nothing was begun, or what was begun is cancelled, it is to be done.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION omoi_ticket_status(ticket uuid) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN NOT coalesce(bool_or(t.status <> 'cancelled' AND (t.status <> 'pending' OR t.attempt_count > 0)), false) THEN 'backlog'
        WHEN bool_or(t.status IN ('assigned', 'running', 'needs_revision')) THEN
            CASE WHEN bool_and(t.mode = 'exploration') FILTER (WHERE t.status IN ('assigned', 'running', 'needs_revision'))
                THEN 'analyzing' ELSE 'building' END
        WHEN bool_or(t.status IN ('pending_validation', 'validating')) THEN 'testing'
        WHEN NOT coalesce(bool_or(t.status = 'completed' OR t.attempt_count > 0), false) THEN 'backlog'
        WHEN bool_and(t.status IN ('completed', 'cancelled')) AND bool_or(t.status = 'completed') THEN 'done'
        WHEN bool_or(t.status = 'completed') AND bool_and(t.status IN ('completed', 'cancelled') OR t.mode = 'validation') THEN 'building-done'
        ELSE 'building' END
    FROM tasks t WHERE t.ticket_id = ticket;
$$;
-- +goose StatementEnd

-- +goose Down

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION omoi_ticket_status(ticket uuid) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN bool_or(t.status IN ('assigned', 'running', 'needs_revision')) THEN
            CASE WHEN bool_and(t.mode = 'exploration') FILTER (WHERE t.status IN ('assigned', 'running', 'needs_revision'))
                THEN 'analyzing' ELSE 'building' END
        WHEN bool_or(t.status IN ('pending_validation', 'validating')) THEN 'testing'
        WHEN NOT coalesce(bool_or(t.status = 'completed' OR t.attempt_count > 0), false) THEN 'backlog'
        WHEN bool_and(t.status IN ('completed', 'cancelled')) AND bool_or(t.status = 'completed') THEN 'done'
        WHEN bool_or(t.status = 'completed') AND bool_and(t.status IN ('completed', 'cancelled') OR t.mode = 'validation') THEN 'building-done'
        ELSE 'building' END
    FROM tasks t WHERE t.ticket_id = ticket;
$$;
-- +goose StatementEnd
DROP INDEX sandboxes_verified, attempts_open;
ALTER TABLE event_counts DROP COLUMN placed;
