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

-- +goose Down

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
