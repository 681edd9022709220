-- +goose Up

-- People, or machines that have credentials of their own. An API key speaks for one.
CREATE TABLE users (
    id              uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    name            text NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    UNIQUE (organization_id, name)
);

INSERT INTO users (organization_id, name) SELECT id, 'owner' FROM organizations;

ALTER TABLE api_keys ADD COLUMN user_id uuid REFERENCES users ON DELETE CASCADE;
UPDATE api_keys k SET user_id = u.id FROM users u WHERE u.organization_id = k.organization_id;
ALTER TABLE api_keys ALTER COLUMN user_id SET NOT NULL;

ALTER TABLE tasks ADD COLUMN user_id uuid REFERENCES users ON DELETE SET NULL;  -- who asked for it
CREATE INDEX tasks_user ON tasks (user_id) WHERE user_id IS NOT NULL;

-- A task as lists show it: all of its columns, in their order.
DROP VIEW task_briefs;
CREATE VIEW task_briefs AS
SELECT id, organization_id, project_id, ticket_id, title, description, task_type, phase_id, priority, mode, agent, provider,
    continuous, person, max_retries, execution_config, budget, deadline_at, status, blocked_reason, sandbox_id,
    assigned_agent_id, branch_name, base_commit, pull_request_url, pull_request_number, omoi_brief(result) AS result,
    error_message, failure_class, retry_count, revision_count, replacement_count, attempt_count, first_run_id, run_id, ordinal,
    assigned_at, started_at, completed_at, queued_at, queue_position, queue_reason, score, created_at, updated_at, waiting, waiting_at,
    user_id
FROM tasks;

-- What agents and git log in with elsewhere. It is the user's, the project's, or, with neither, the organization's.
CREATE TABLE credentials (
    id              uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    user_id         uuid REFERENCES users ON DELETE CASCADE,
    project_id      uuid REFERENCES projects ON DELETE CASCADE,
    kind            text NOT NULL,
    key_id          text NOT NULL,      -- which key of the installation encrypts it; never the key itself
    sealed          bytea NOT NULL,     -- nonce and AES-GCM, bound to organization, user, project, kind and key_id
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    used_at         timestamptz,        -- a task was given it
    CHECK (user_id IS NULL OR project_id IS NULL)
);
CREATE UNIQUE INDEX credentials_place ON credentials (organization_id, coalesce(user_id, project_id, organization_id), kind);
CREATE INDEX credentials_user ON credentials (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX credentials_project ON credentials (project_id) WHERE project_id IS NOT NULL;

-- +goose Down

DROP TABLE credentials;
DROP VIEW task_briefs;
ALTER TABLE tasks DROP COLUMN user_id;
CREATE VIEW task_briefs AS
SELECT id, organization_id, project_id, ticket_id, title, description, task_type, phase_id, priority, mode, agent, provider,
    continuous, person, max_retries, execution_config, budget, deadline_at, status, blocked_reason, sandbox_id,
    assigned_agent_id, branch_name, base_commit, pull_request_url, pull_request_number, omoi_brief(result) AS result,
    error_message, failure_class, retry_count, revision_count, replacement_count, attempt_count, first_run_id, run_id, ordinal,
    assigned_at, started_at, completed_at, queued_at, queue_position, queue_reason, score, created_at, updated_at, waiting, waiting_at
FROM tasks;
ALTER TABLE api_keys DROP COLUMN user_id;
DROP TABLE users;
