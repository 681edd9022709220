-- +goose Up

ALTER TABLE tasks ADD COLUMN validation_rounds integer NOT NULL DEFAULT 0  -- at most; 0: nobody validates its work
    CHECK (validation_rounds BETWEEN 0 AND 10);

-- A task as lists show it: all of its columns, in their order.
DROP VIEW task_briefs;
CREATE VIEW task_briefs AS
SELECT id, organization_id, project_id, ticket_id, title, description, task_type, phase_id, priority, mode, agent, provider,
    continuous, person, max_retries, execution_config, budget, deadline_at, status, blocked_reason, sandbox_id,
    assigned_agent_id, branch_name, base_commit, pull_request_url, pull_request_number, omoi_brief(result) AS result,
    error_message, failure_class, retry_count, revision_count, replacement_count, attempt_count, first_run_id, run_id, ordinal,
    assigned_at, started_at, completed_at, queued_at, queue_position, queue_reason, score, created_at, updated_at, waiting, waiting_at,
    user_id, validation_rounds
FROM tasks;

-- The verdicts that counted, each the end of a round.
CREATE TABLE validation_reviews (
    task_id         uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
    round           integer NOT NULL,           -- from 1
    sandbox_id      text NOT NULL DEFAULT '',   -- of the validator; empty: it came from somebody else
    attempt         integer NOT NULL DEFAULT 0, -- of the validator; 0: it has none
    given_by        text NOT NULL DEFAULT '',   -- who sent it, as in commands
    passed          boolean NOT NULL,
    feedback        text NOT NULL DEFAULT '',
    recommendations jsonb NOT NULL DEFAULT '[]',
    evidence        jsonb NOT NULL DEFAULT '{}',
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (task_id, round)
);

-- The sandbox of a validator has a name of its own on the bus.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION omoi_sandbox_bus() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    validates boolean := EXISTS (SELECT FROM attempts a WHERE a.sandbox_id = NEW.id AND a.kind = 'validation');
BEGIN
    INSERT INTO bus_events (organization_id, event_type, entity_type, entity_id, payload)
    SELECT NEW.organization_id, name, 'sandbox', NEW.id,
        jsonb_build_object('sandbox_id', NEW.id, 'task_id', NEW.task_id, 'provider', NEW.provider)
        || CASE NEW.state WHEN 'gone' THEN '{}' ELSE coalesce((
            SELECT jsonb_build_object('agent_id', NEW.id, 'ticket_id', t.ticket_id, 'phase_id', t.phase_id)
            FROM tasks t WHERE t.id = NEW.task_id), '{}') END
        || CASE WHEN validates THEN '{"execution_mode": "validation"}' ELSE '{}' END::jsonb
    FROM unnest(CASE WHEN NEW.state = 'gone' THEN ARRAY['sandbox.terminated']
        WHEN validates THEN ARRAY['sandbox.spawned', 'VALIDATION_SANDBOX_SPAWNED']
        ELSE ARRAY['sandbox.spawned', 'SANDBOX_SPAWNED'] END) AS name;
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- +goose Down

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION omoi_sandbox_bus() RETURNS trigger LANGUAGE plpgsql AS $$
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
DROP TABLE validation_reviews;
DROP VIEW task_briefs;
ALTER TABLE tasks DROP COLUMN validation_rounds;
CREATE VIEW task_briefs AS
SELECT id, organization_id, project_id, ticket_id, title, description, task_type, phase_id, priority, mode, agent, provider,
    continuous, person, max_retries, execution_config, budget, deadline_at, status, blocked_reason, sandbox_id,
    assigned_agent_id, branch_name, base_commit, pull_request_url, pull_request_number, omoi_brief(result) AS result,
    error_message, failure_class, retry_count, revision_count, replacement_count, attempt_count, first_run_id, run_id, ordinal,
    assigned_at, started_at, completed_at, queued_at, queue_position, queue_reason, score, created_at, updated_at, waiting, waiting_at,
    user_id
FROM tasks;
