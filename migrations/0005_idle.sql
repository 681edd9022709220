-- +goose Up
-- An attempt that omoi ended because its agent did nothing is told of as its sandbox's end.
-- +goose StatementBegin
CREATE FUNCTION omoi_idle_bus() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO bus_events (organization_id, event_type, entity_type, entity_id, payload)
    SELECT s.organization_id, 'SANDBOX_TERMINATED_IDLE', 'sandbox', s.id,
        jsonb_build_object('reason', NEW.stop_reason, 'task_id', NEW.task_id, 'transcript_saved', false,
            'idle_duration_seconds', extract(epoch FROM NEW.ended_at - coalesce(s.last_work_at, s.started_at, NEW.started_at)))
    FROM sandboxes s WHERE s.id = NEW.sandbox_id;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER attempt_idle AFTER UPDATE OF ended_at ON attempts FOR EACH ROW
    WHEN (OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL AND NEW.stop_reason IN ('stuck_running', 'idle_timeout'))
    EXECUTE FUNCTION omoi_idle_bus();

-- +goose Down
DROP TRIGGER attempt_idle ON attempts;
DROP FUNCTION omoi_idle_bus;
