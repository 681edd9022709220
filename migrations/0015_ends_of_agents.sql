-- +goose Up
-- Sandboxes whose agent said that it leaves, and has not come back.
CREATE TABLE departures (
    sandbox_id  text PRIMARY KEY REFERENCES sandboxes ON DELETE CASCADE,
    left_at     timestamptz NOT NULL
);

-- Why a sandbox was ended whose agent did nothing more, in the words of the replaced system and in
-- its order: what a run by phases said of its own end goes before what was seen of the agent. A
-- person's cancel is none of these.
-- +goose StatementBegin
CREATE FUNCTION omoi_idle_reason(box text, outcome text, stop_reason text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN outcome = 'cancelled' THEN NULL
        WHEN p.execution_completed_at IS NOT NULL THEN 'execution_completed'
        WHEN p.execution_failed_at IS NOT NULL THEN 'execution_failed'
        WHEN stop_reason NOT IN ('stuck_running', 'idle_timeout') THEN NULL
        WHEN p.last_completed_at < now() - interval '5 minutes' AND NOT p.started ? n.phase THEN 'stuck_between_phases'
        ELSE stop_reason END
    FROM (VALUES (1)) AS one LEFT JOIN spec_progress p ON p.sandbox_id = box
    LEFT JOIN (VALUES ('explore', 'prd'), ('prd', 'requirements'), ('requirements', 'design'), ('design', 'tasks'), ('tasks', 'sync'))
        AS n(before, phase) ON n.before = p.last_completed;
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION omoi_idle_bus() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    why text := omoi_idle_reason(NEW.sandbox_id, NEW.outcome, NEW.stop_reason);
BEGIN
    INSERT INTO bus_events (organization_id, event_type, entity_type, entity_id, payload)
    SELECT s.organization_id, 'SANDBOX_TERMINATED_IDLE', 'sandbox', s.id,
        jsonb_build_object('reason', why, 'task_id', NEW.task_id,
            'transcript_saved', EXISTS (SELECT FROM transcripts t WHERE t.sandbox_id = s.id),
            'idle_duration_seconds', extract(epoch FROM NEW.ended_at - coalesce(s.last_work_at, s.started_at, NEW.started_at)))
    FROM sandboxes s WHERE s.id = NEW.sandbox_id AND why IS NOT NULL;
    RETURN NULL;
END $$;
-- +goose StatementEnd
DROP TRIGGER attempt_idle ON attempts;
CREATE TRIGGER attempt_idle AFTER UPDATE OF ended_at ON attempts FOR EACH ROW
    WHEN (OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL) EXECUTE FUNCTION omoi_idle_bus();

-- +goose Down
DROP TRIGGER attempt_idle ON attempts;
CREATE TRIGGER attempt_idle AFTER UPDATE OF ended_at ON attempts FOR EACH ROW
    WHEN (OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL AND NEW.stop_reason IN ('stuck_running', 'idle_timeout'))
    EXECUTE FUNCTION omoi_idle_bus();
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
DROP FUNCTION omoi_idle_reason;
DROP TABLE departures;
