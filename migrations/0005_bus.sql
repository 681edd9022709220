-- +goose Up
-- What else readers of the bus are told, under the names of the replaced system.

-- A sandbox that lives and one that is gone.
-- +goose StatementBegin
CREATE FUNCTION omoi_sandbox_bus() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO bus_events (organization_id, event_type, entity_type, entity_id, payload)
    SELECT NEW.organization_id, name, 'sandbox', NEW.id,
        jsonb_build_object('sandbox_id', NEW.id, 'task_id', NEW.task_id, 'provider', NEW.provider)
        || CASE NEW.state WHEN 'gone' THEN '{}' ELSE coalesce((
            SELECT jsonb_build_object('agent_id', NEW.id, 'ticket_id', t.ticket_id, 'phase_id', t.phase_id)
            FROM tasks t WHERE t.id = NEW.task_id), '{}') END
    FROM unnest(CASE NEW.state WHEN 'gone' THEN ARRAY['sandbox.terminated']
        ELSE ARRAY['sandbox.spawned', 'SANDBOX_SPAWNED'] END) AS name;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER sandbox_spawned AFTER UPDATE OF state ON sandboxes FOR EACH ROW
    WHEN (NEW.state = 'running' AND OLD.state IN ('intended', 'creating')) EXECUTE FUNCTION omoi_sandbox_bus();
CREATE TRIGGER sandbox_gone AFTER UPDATE OF state ON sandboxes FOR EACH ROW
    WHEN (NEW.state = 'gone' AND OLD.state <> 'gone') EXECUTE FUNCTION omoi_sandbox_bus();

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

-- An attempt that failed before its sandbox ran.
-- +goose StatementBegin
CREATE FUNCTION omoi_spawn_bus() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO bus_events (organization_id, event_type, entity_type, entity_id, payload)
    SELECT s.organization_id, 'sandbox.failed', 'sandbox', s.id,
        jsonb_build_object('sandbox_id', s.id, 'task_id', NEW.task_id, 'error', NEW.reason)
    FROM sandboxes s WHERE s.id = NEW.sandbox_id AND s.state IN ('intended', 'creating');
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER attempt_unborn AFTER UPDATE OF ended_at ON attempts FOR EACH ROW
    WHEN (OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL AND NEW.outcome = 'failed') EXECUTE FUNCTION omoi_spawn_bus();

-- What a validator is asked for and says. The texts stay in the result.
-- +goose StatementBegin
CREATE FUNCTION omoi_verdict_bus() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO bus_events (organization_id, event_type, entity_type, entity_id, payload)
    VALUES (NEW.organization_id,
        CASE WHEN OLD.result -> 'validation_iteration' IS NOT DISTINCT FROM NEW.result -> 'validation_iteration' THEN 'TASK_VALIDATION_REQUESTED'
            WHEN NEW.result -> 'validation_passed' = 'true' THEN 'TASK_VALIDATION_PASSED' ELSE 'TASK_VALIDATION_FAILED' END,
        'task', NEW.id::text,
        jsonb_build_object('task_id', NEW.id, 'ticket_id', NEW.ticket_id, 'phase_id', NEW.phase_id, 'status', NEW.status,
            'validation_iteration', NEW.result -> 'validation_iteration', 'validation_passed', NEW.result -> 'validation_passed'));
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER task_judged AFTER UPDATE OF status, result ON tasks FOR EACH ROW
    WHEN ((NEW.result -> 'validation_iteration' IS NOT NULL
            AND OLD.result -> 'validation_iteration' IS DISTINCT FROM NEW.result -> 'validation_iteration')
        OR (NEW.status = 'pending_validation' AND OLD.status <> 'pending_validation'))
    EXECUTE FUNCTION omoi_verdict_bus();

-- The pending tasks that waited for a completed one and for nothing else.
-- +goose StatementBegin
CREATE FUNCTION omoi_unblocked_bus() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO bus_events (organization_id, event_type, entity_type, entity_id, payload)
    SELECT NEW.organization_id, 'TASKS_UNBLOCKED', 'task', NEW.id::text, jsonb_build_object(
        'completed_task_id', NEW.id, 'unblocked_task_ids', jsonb_agg(t.id ORDER BY t.created_at, t.id), 'sandbox_id', NEW.sandbox_id)
    FROM task_dependencies d JOIN tasks t ON t.id = d.task_id
    WHERE d.depends_on = NEW.id AND t.status = 'pending' AND NOT EXISTS (
        SELECT FROM task_dependencies o JOIN tasks p ON p.id = o.depends_on
        WHERE o.task_id = t.id AND p.status <> 'completed')
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER task_unblocks AFTER UPDATE OF status ON tasks FOR EACH ROW
    WHEN (NEW.status = 'completed' AND OLD.status <> 'completed') EXECUTE FUNCTION omoi_unblocked_bus();

-- +goose StatementBegin
CREATE FUNCTION omoi_ticket_bus() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO bus_events (organization_id, event_type, entity_type, entity_id, payload)
    SELECT p.organization_id, CASE TG_OP WHEN 'INSERT' THEN 'TICKET_CREATED' ELSE 'TICKET_STATUS_CHANGED' END, 'ticket', NEW.id::text,
        jsonb_build_object('ticket_id', NEW.id, 'project_id', NEW.project_id, 'phase_id', NEW.phase_id, 'priority', NEW.priority,
            'status', NEW.status, 'old_status', CASE TG_OP WHEN 'UPDATE' THEN OLD.status END)
    FROM projects p WHERE p.id = NEW.project_id;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER ticket_made AFTER INSERT ON tickets FOR EACH ROW EXECUTE FUNCTION omoi_ticket_bus();
CREATE TRIGGER ticket_moved AFTER UPDATE OF status ON tickets FOR EACH ROW
    WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION omoi_ticket_bus();

-- +goose Down
DROP TRIGGER sandbox_spawned ON sandboxes;
DROP TRIGGER sandbox_gone ON sandboxes;
DROP TRIGGER attempt_idle ON attempts;
DROP TRIGGER attempt_unborn ON attempts;
DROP TRIGGER task_judged ON tasks;
DROP TRIGGER task_unblocks ON tasks;
DROP TRIGGER ticket_made ON tickets;
DROP TRIGGER ticket_moved ON tickets;
DROP FUNCTION omoi_sandbox_bus, omoi_idle_bus, omoi_spawn_bus, omoi_verdict_bus, omoi_unblocked_bus, omoi_ticket_bus;
