-- +goose Up

-- What a project does about reviews and failed checks of its pull requests.
ALTER TABLE projects ADD COLUMN on_feedback text NOT NULL DEFAULT 'off' CHECK (on_feedback IN ('off', 'message', 'revise'));

-- Tasks that go on with the branch and pull request of another, since feedback came when that was completed. The first
-- task of a pull request, its root, has no row.
CREATE TABLE follow_ups (
    task_id     uuid PRIMARY KEY REFERENCES tasks ON DELETE CASCADE,
    root_id     uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
    follows     uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
    round       integer NOT NULL,               -- from 1
    UNIQUE (root_id, round)
);

-- What came from outside about a pull request of ours, and what was done about it: also the outbox, since a row and the
-- message or task that it leads to are written together.
CREATE TABLE feedback (
    id          uuid PRIMARY KEY,
    ordinal     bigint GENERATED ALWAYS AS IDENTITY,
    delivery    text NOT NULL UNIQUE,           -- the host's id of it
    digest      bytea NOT NULL UNIQUE,          -- of what was signed: a replay under another id is the same
    root_id     uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
    kind        text NOT NULL CHECK (kind IN ('check', 'review', 'comment')),
    subject     text NOT NULL DEFAULT '',
    commit      text NOT NULL DEFAULT '',       -- of a check
    author      text NOT NULL DEFAULT '',
    note        text NOT NULL,
    said        text NOT NULL DEFAULT '',
    url         text NOT NULL DEFAULT '',
    state       text NOT NULL DEFAULT 'held' CHECK (state IN ('held', 'sent', 'heard', 'started', 'ignored')),
    reason      text NOT NULL DEFAULT '',
    task_id     uuid REFERENCES tasks ON DELETE SET NULL,       -- whose agent was told, or that was started
    message_id  uuid REFERENCES messages ON DELETE SET NULL,
    due_at      timestamptz NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX feedback_subject ON feedback (root_id, subject) WHERE subject <> '';
CREATE INDEX feedback_root ON feedback (root_id, ordinal);
CREATE INDEX feedback_task ON feedback (task_id) WHERE task_id IS NOT NULL;
CREATE INDEX feedback_message ON feedback (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX feedback_due ON feedback (due_at) WHERE state = 'held';
CREATE INDEX feedback_sent ON feedback (id) WHERE state = 'sent';
CREATE INDEX feedback_ignored ON feedback (created_at) WHERE state = 'ignored';

-- What the host told last of a pull request of ours.
CREATE TABLE pull_states (
    root_id     uuid PRIMARY KEY REFERENCES tasks ON DELETE CASCADE,
    state       text NOT NULL CHECK (state IN ('open', 'closed', 'merged')),
    at          timestamptz NOT NULL            -- by the host's clock
);

-- Whose pull request or branch it is.
CREATE INDEX projects_repo_any ON projects (lower(repo)) WHERE repo <> '';
CREATE INDEX tasks_pull ON tasks (project_id, pull_request_number) WHERE pull_request_number IS NOT NULL;
CREATE INDEX tasks_branch ON tasks (project_id, branch_name) WHERE branch_name IS NOT NULL;

-- +goose Down

DROP INDEX tasks_branch, tasks_pull, projects_repo_any;
DROP TABLE pull_states, feedback, follow_ups;
ALTER TABLE projects DROP COLUMN on_feedback;
